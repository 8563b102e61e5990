#include "models/recurrent/recurrent_step.h"

#include <algorithm>

#include "ops/check.h"

namespace wick {

void copy_values(const Tensor& from, const Tensor& to) {
  find_kernel("state", to.device(), &KernelTable::copy)(from, to);
}

RecurrentStep::RecurrentStep(const ForwardBatch& batch, size_t tensors_per_layer) : per_layer(tensors_per_layer) {
  positions.reserve(batch.tokens.size());
  sequences.reserve(batch.sequences.size());
  for (const SequenceRows& rows : batch.sequences) {
    sequences.push_back({static_cast<int64_t>(positions.size()), rows.tokens, rows.state->tensors.data()});
    for (int64_t i = 0; i < rows.tokens; ++i) positions.push_back(rows.position + i);
  }
  for (size_t i = 0; i < sequences.size(); ++i) {
    const auto begin = static_cast<size_t>(sequences[i].begin), count = static_cast<size_t>(sequences[i].count);
    hooks.add(sequences[i].begin, std::span(positions).subspan(begin, count), batch.sequences[i].hooks);
  }
}

std::vector<StateRows> RecurrentStep::state_rows(int layer, size_t index) const {
  std::vector<StateRows> rows;
  rows.reserve(sequences.size());
  for (const Rows& sequence : sequences) {
    rows.push_back({sequence.begin, sequence.count, state(sequence, layer, index)});
  }
  return rows;
}

Tensor RecurrentStep::convolve(const Tensor& x, const Tensor& weight, const Tensor& bias, int layer,
                               size_t index) const {
  return causal_conv(x, weight, bias, state_rows(layer, index));
}

void RecurrentStep::hook_state(int layer, size_t index) const {
  for (const BatchHooks::Rows& hooked : hooks.sequences()) {
    if (!hooked.hooks->touches(HookPoint::kState)) continue;
    const auto sequence =
        std::find_if(sequences.begin(), sequences.end(), [&](const Rows& rows) { return rows.begin == hooked.begin; });
    const Tensor& stored = state(*sequence, layer, index);
    const Tensor shown = stored.with_layout(stored.layout().unsqueeze(0));
    const Tensor changed = hooked.hooks->run(HookPoint::kState, layer, shown, hooked.positions.last(1));
    if (changed.raw() == stored.raw()) continue;
    copy_values(changed, shown);
  }
}

}  // namespace wick
