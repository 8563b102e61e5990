#include "ops/attend.h"

#include "backends/reference/kernels.h"
#include "tensor/create.h"

namespace wick::reference {
namespace {

// x [tokens, heads, dim], normed and rotated.
Tensor turned(const Tensor& x, const Tensor& weight, const HeadTurns& turns) {
  Tensor normed = x;
  if (weight.defined()) {
    normed = empty(x.shape(), DType::kF32, x.device());
    rms_norm(x, weight, turns.eps, normed);
  }
  if (!turns.cos.defined()) return normed;
  const Tensor by_head = normed.with_layout(normed.layout().transpose(0, 1));
  const Tensor out = empty(by_head.shape(), DType::kF32, x.device());
  rope(by_head, turns.cos, turns.sin, turns.interleaved, out);
  return out.with_layout(out.layout().transpose(0, 1));
}

}  // namespace

void attend(const AttendInput& input, const HeadTurns& turns, const KvBlocks& blocks, const PagedRows& rows,
            const PagedAttentionOptions& options, const Tensor& queries, const Tensor& out) {
  const Tensor query = turned(input.query, turns.query_weight, turns);
  if (queries.defined()) copy(query, queries);
  reference::store_kv(turned(input.key, turns.key_weight, turns), input.value, rows, blocks);
  paged_attention(query, blocks, rows, options, out);
}

}  // namespace wick::reference
