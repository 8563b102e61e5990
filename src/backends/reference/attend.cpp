#include "ops/layers/paged_attention.h"

#include "backends/reference/kernels.h"
#include "tensor/create.h"

namespace wick::reference {
namespace {

// x [tokens, heads, dim], normed and rotated.
Tensor rotated(const Tensor& x, const Tensor& weight, const HeadRotation& rotation) {
  Tensor normed = x;
  if (weight.defined()) {
    normed = empty(x.shape(), DType::kF32, x.device());
    rms_norm(x, weight, rotation.eps, normed);
  }
  if (!rotation.cos.defined()) return normed;
  const Tensor by_head = normed.with_layout(normed.layout().transpose(0, 1));
  const Tensor out = empty(by_head.shape(), DType::kF32, x.device());
  rope(by_head, rotation.cos, rotation.sin, rotation.interleaved, out);
  return out.with_layout(out.layout().transpose(0, 1));
}

}  // namespace

void attend(const AttendInput& input, const HeadRotation& rotation, const KvBlocks& blocks, const PagedRows& rows,
            const PagedAttentionOptions& options, const Tensor& queries, const Tensor& out) {
  const Tensor query = rotated(input.query, rotation.query_weight, rotation);
  if (queries.defined()) copy(query, queries);
  reference::store_kv(rotated(input.key, rotation.key_weight, rotation), input.value, rows, blocks);
  paged_attention(query, blocks, rows, options, out);
}

}  // namespace wick::reference
