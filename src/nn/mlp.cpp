#include "nn/mlp.h"

namespace wick {

Tensor Mlp::operator()(const LinearInput& input, const Tensor& residual, const BatchHooks& hooks, int layer) const {
  if (!gate.defined()) {
    const Tensor pre = hooks(HookPoint::kMlpPre, layer, up(input, {}));
    const Tensor post = activation == Activation::kXielu ? xielu(pre) : activate(activation, pre);
    return down(sub_norm.input_for(hooks(HookPoint::kMlpPost, layer, post)), residual);
  }
  const bool shows_post = hooks.wants(HookPoint::kMlpPost, layer) || sub_norm.present();
  if (activation == Activation::kSilu && gate.is_plain() && up.is_plain() && !hooks.wants(HookPoint::kMlpPre, layer)) {
    const Tensor post = gated_linear(input, {gate.weight, gate.bias}, {up.weight, up.bias},
                                     down.is_plain() ? down.weight : Tensor(), shows_post);
    if (post.defined()) return down(sub_norm.input_for(hooks(HookPoint::kMlpPost, layer, post)), residual);
  }
  const auto parts = apply_linears(input, {&gate, &up});
  const Tensor pre = hooks(HookPoint::kMlpPre, layer, parts[0]);
  if (activation == Activation::kSilu && !shows_post) return down({pre, {}, 0, parts[1]}, residual);
  return down(sub_norm.input_for(hooks(HookPoint::kMlpPost, layer, activate_gated(activation, pre, parts[1]))),
              residual);
}

}  // namespace wick
