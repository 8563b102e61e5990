#include "models/logit_hooks.h"

#include "hooks/batch_hooks.h"

namespace wick {

Tensor hook_logits(const ForwardBatch& batch, std::span<const int64_t> positions, const Tensor& logits) {
  std::vector<int64_t> row_positions;
  row_positions.reserve(batch.logit_rows.size());
  for (const int64_t row : batch.logit_rows) row_positions.push_back(positions[static_cast<size_t>(row)]);
  BatchHooks hooks;
  int64_t end = 0;
  size_t row = 0;
  for (const SequenceRows& sequence : batch.sequences) {
    const size_t begin = row;
    end += sequence.tokens;
    while (row < batch.logit_rows.size() && batch.logit_rows[row] < end) ++row;
    hooks.add(static_cast<int64_t>(begin), std::span(row_positions).subspan(begin, row - begin), sequence.hooks);
  }
  return hooks(HookPoint::kLogits, -1, logits);
}

}  // namespace wick
