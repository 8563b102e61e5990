#include "nn/mlp.h"

#include "ops/binary.h"
#include "ops/reduction.h"
#include "ops/unary.h"

namespace wick {
namespace {

Tensor what_stands_out(const Tensor& gate, double cut) {
  const Tensor average = mean(gate, {-1}, true), away = sub(gate, average);
  const Tensor deviation = sqrt(mean(sqr(away), {-1}, true));
  return relu(sub(gate, add(average, mul(deviation, cut))));
}

}  // namespace

Tensor Mlp::operator()(const LinearInput& input, const Tensor& residual, const BatchHooks& hooks, int layer) const {
  if (scale == 1) return run(input, residual, hooks, layer);
  const Tensor y = mul(run(input, {}, hooks, layer), scale);
  return residual.defined() ? add(residual, y) : y;
}

Tensor Mlp::run(const LinearInput& input, const Tensor& residual, const BatchHooks& hooks, int layer) const {
  if (!gate.defined()) {
    const Tensor pre = hooks(HookPoint::kMlpPre, layer, up(input, {}));
    const Tensor post = activation == Activation::kXielu ? xielu(pre) : activate(activation, pre);
    return down(sub_norm.input_for(hooks(HookPoint::kMlpPost, layer, post)), residual);
  }
  const bool shows_post = hooks.wants(HookPoint::kMlpPost, layer) || sub_norm.present();
  const bool is_silu = activation == Activation::kSilu && !cut;
  const bool fits_fused = is_silu && gate_scale == 1 && gate.is_plain() && up.is_plain();
  if (fits_fused && !hooks.wants(HookPoint::kMlpPre, layer)) {
    const Tensor post = gated_linear(input, {gate.weight, gate.bias}, {up.weight, up.bias},
                                     down.is_plain() ? down.weight : Tensor(), shows_post);
    if (post.defined()) return down(sub_norm.input_for(hooks(HookPoint::kMlpPost, layer, post)), residual);
  }
  const auto parts = apply_linears(input, {&gate, &up});
  const Tensor pre = hooks(HookPoint::kMlpPre, layer, gate_scale == 1 ? parts[0] : mul(parts[0], gate_scale));
  if (is_silu && !shows_post) return down({pre, {}, 0, parts[1]}, residual);
  const Tensor post = activate_gated(activation, cut ? what_stands_out(pre, *cut) : pre, parts[1]);
  return down(sub_norm.input_for(hooks(HookPoint::kMlpPost, layer, post)), residual);
}

}  // namespace wick
