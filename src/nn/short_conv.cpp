#include "nn/short_conv.h"

#include "ops/mul.h"
#include "ops/narrow.h"
#include "ops/permute.h"

namespace wick {

Tensor taps_first(const Tensor& filters) { return filters.defined() ? transpose(filters, 0, 1).contiguous() : filters; }

Tensor ShortConv::operator()(const Tensor& x, std::span<const StateRows> sequences, const BatchHooks& hooks,
                             int layer) const {
  const int64_t hidden = x.dim(1);
  const Tensor parts = in(x);
  const Tensor gate = narrow(parts, 1, hidden, hidden);
  const Tensor gated =
      hooks(HookPoint::kMixerIn, layer, mul(narrow(parts, 1, 0, hidden), narrow(parts, 1, 2 * hidden, hidden)));
  const Tensor mixed = causal_conv(gated, weight, bias, sequences);
  return out(mul(hooks(HookPoint::kGate, layer, gate.contiguous()), mixed));
}

}  // namespace wick
