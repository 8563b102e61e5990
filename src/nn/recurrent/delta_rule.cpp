#include "nn/recurrent/delta_rule.h"

#include <cmath>

#include "ops/binary.h"
#include "ops/index.h"
#include "ops/layers/norm.h"
#include "ops/unary.h"
#include "ops/view.h"

namespace wick {
namespace {

constexpr double kUnitEps = 1e-6;  // of the squares' sum

// Each head's row at length 1.
Tensor unit_rows(const Tensor& x, int64_t heads, int64_t dim) {
  const auto size = static_cast<double>(dim);
  const Tensor normed = rms_norm(reshape(x, {x.dim(0), heads, dim}), {}, static_cast<float>(kUnitEps / size));
  return reshape(mul(normed, 1 / std::sqrt(size)), {x.dim(0), heads * dim});
}

}  // namespace

Tensor DeltaRule::operator()(const Tensor& x, const MixerStep& step) const {
  const int64_t tokens = x.dim(0), channels = conv_channels();
  Tensor entering = qkv(x), gate, beta = b(x), fall;
  if (fused_order.defined()) {
    const Tensor all = index_select(entering, 1, fused_order);
    entering = narrow(all, 1, 0, channels);
    gate = narrow(all, 1, channels, inner());
  } else {
    gate = z(x);
  }
  if (fused_ba_order.defined()) {
    const Tensor both = index_select(beta, 1, fused_ba_order);
    beta = narrow(both, 1, 0, heads);
    fall = narrow(both, 1, heads, heads);
  } else {
    fall = a(x);
  }
  const Tensor convolved = silu(causal_conv(entering, conv_weight, {}, step.rows(0)));
  const auto unit = [&](int64_t begin) {
    return unit_rows(narrow(convolved, 1, begin, key_width()).contiguous(), key_heads, key_dim);
  };
  Tensor values = narrow(convolved, 1, 2 * key_width(), inner());
  if (step.hooks.active()) values = step.hook(HookPoint::kMixerIn, values.contiguous()).contiguous();
  const Tensor falls = step.hook(HookPoint::kDecay, mul(softplus(add(fall, dt_bias)), speed)).contiguous();
  const Tensor y = delta_rule_scan(unit(0), unit(key_width()), values, falls, sigmoid(beta), step.rows(1));
  step.hook_state(1);
  const Tensor normed = rms_norm(reshape(y, {tokens, heads, value_dim}), norm_weight, norm_eps);
  return out(mul(reshape(normed, {tokens, inner()}), step.hook(HookPoint::kGate, silu(gate))));
}

}  // namespace wick
