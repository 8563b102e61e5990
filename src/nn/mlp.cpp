#include "nn/mlp.h"

#include <array>

namespace wick {

Tensor Mlp::operator()(const Tensor& x, const BatchHooks& hooks, int layer) const {
  const Tensor pre = hooks(HookPoint::kMlpPre, layer, gate.defined() ? gate(x) : up(x));
  const Tensor post = gate.defined() ? activate_gated(activation, pre, up(x)) : activate(activation, pre);
  return down(hooks(HookPoint::kMlpPost, layer, post));
}

Tensor Mlp::fused(const Norm& norm, const Tensor& x) const {
  const LinearInput input = norm.input_for(x);
  std::array<Tensor, 2> parts;
  std::array<Tensor, 1> out;
  if (!gate.defined()) {
    apply_linears(input, {&up}, {}, std::span(parts).first(1));
    apply_linears({activate(activation, parts[0])}, {&down}, x, out);
  } else if (const auto gated = activation == Activation::kSilu ? apply_gated(input, gate, up, down) : std::nullopt) {
    apply_linears({*gated}, {&down}, x, out);
  } else {
    apply_linears(input, {&gate, &up}, {}, parts);
    if (activation == Activation::kSilu) {
      apply_linears({parts[0], {}, 0, parts[1]}, {&down}, x, out);
    } else {
      apply_linears({activate_gated(activation, parts[0], parts[1])}, {&down}, x, out);
    }
  }
  return out[0];
}

}  // namespace wick
