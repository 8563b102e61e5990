#include "nn/mlp.h"

namespace wick {

Tensor Mlp::operator()(const Tensor& x, const BatchHooks& hooks, int layer) const {
  const Tensor pre = hooks(HookPoint::kMlpPre, layer, gate.defined() ? gate(x) : up(x));
  const Tensor post = gate.defined() ? activate_gated(activation, pre, up(x)) : activate(activation, pre);
  return down(hooks(HookPoint::kMlpPost, layer, post));
}

}  // namespace wick
