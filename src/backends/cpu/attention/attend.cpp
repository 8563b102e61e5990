#include "ops/layers/paged_attention.h"

#include <algorithm>

#include "backends/cpu/basic/rotate_pairs.h"
#include "backends/cpu/kernels.h"
#include "base/thread_pool.h"
#include "tensor/create.h"

namespace wick::cpu {
namespace {

constexpr int64_t kPiece = 16384;

// The heads of x [tokens, heads, dim], normed and rotated, in `out`; x itself where nothing happens to them and no
// `out` is given.
Tensor rotated(const Tensor& x, const Tensor& weight, const HeadRotation& rotation, Tensor out) {
  const bool norms = weight.defined(), rotates = rotation.cos.defined();
  if (!norms && !rotates) {
    if (!out.defined()) return x;
    copy(x, out);
    return out;
  }
  if (!out.defined()) out = empty(x.shape(), DType::kF32);
  const Tensor normed = norms && rotates ? empty(x.shape(), DType::kF32) : out;
  if (norms) rms_norm(x, weight, rotation.eps, normed);
  if (!rotates) return out;
  const float* from = norms ? normed.data<float>() : x.data<float>();
  const float *cos = rotation.cos.data<float>(), *sin = rotation.sin.data<float>();
  const int64_t heads = x.dim(1), dim = x.dim(2), pairs = rotation.cos.dim(1);
  float* to = out.mutable_data<float>();
  parallel_for(x.dim(0) * heads, std::max<int64_t>(1, kPiece / dim), [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      const float* row = from + line * dim;
      const int64_t token = line / heads;
      rotate_pairs(row, cos + token * pairs, sin + token * pairs, pairs, rotation.interleaved, to + line * dim);
      std::copy(row + 2 * pairs, row + dim, to + line * dim + 2 * pairs);
    }
  });
  return out;
}

}  // namespace

void attend(const AttendInput& input, const HeadRotation& rotation, const KvBlocks& blocks, const PagedRows& rows,
            const PagedAttentionOptions& options, const Tensor& queries, const Tensor& out) {
  const Tensor query = rotated(input.query, rotation.query_weight, rotation, queries);
  cpu::store_kv(rotated(input.key, rotation.key_weight, rotation, Tensor()), input.value, rows, blocks);
  if (out.numel() > 0) paged_attention(query, blocks, rows, options, out);
}

}  // namespace wick::cpu
