#include "nn/recurrent/short_conv.h"

#include "ops/binary.h"
#include "ops/view.h"

namespace wick {

Tensor ShortConv::operator()(const Tensor& x, const MixerStep& step) const {
  const Tensor parts = in(x);
  const Tensor gate = narrow(parts, 1, hidden, hidden);
  const Tensor gated =
      step.hook(HookPoint::kMixerIn, mul(narrow(parts, 1, 0, hidden), narrow(parts, 1, 2 * hidden, hidden)));
  const Tensor mixed = causal_conv(gated, weight, bias, step.rows(0));
  return out(mul(step.hook(HookPoint::kGate, gate.contiguous()), mixed));
}

}  // namespace wick
