#include "nn/recurrent/mixer.h"

#include <algorithm>

#include "ops/check.h"
#include "ops/view.h"

namespace wick {

std::vector<StateRows> MixerStep::rows(size_t index) const {
  std::vector<StateRows> rows;
  rows.reserve(sequences.size());
  for (const SequenceState& of : sequences) rows.push_back({of.begin, of.count, state(of, index)});
  return rows;
}

void MixerStep::hook_state(size_t index) const {
  for (const BatchHooks::Rows& hooked : hooks.sequences()) {
    if (!hooked.hooks->touches(HookPoint::kState)) continue;
    const auto sequence = std::find_if(sequences.begin(), sequences.end(),
                                       [&](const SequenceState& of) { return of.begin == hooked.begin; });
    const Tensor& stored = state(*sequence, index);
    const Tensor shown = stored.with_layout(stored.layout().unsqueeze(0));
    const Tensor changed = hooked.hooks->run(HookPoint::kState, layer, shown, hooked.positions.last(1));
    if (changed.raw() != stored.raw()) copy_values(changed, shown);
  }
}

void copy_values(const Tensor& from, const Tensor& to) {
  find_kernel("state", to.device(), &KernelTable::copy)(from, to);
}

Tensor taps_first(const Tensor& filters) { return filters.defined() ? transpose(filters, 0, 1).contiguous() : filters; }

}  // namespace wick
