#include "ops/attend.h"

#include <algorithm>

#include "backends/cpu/kernels.h"
#include "backends/cpu/turn.h"
#include "base/thread_pool.h"
#include "tensor/create.h"

namespace wick::cpu {
namespace {

constexpr int64_t kPiece = 16384;

// The heads of x [tokens, heads, dim], normed and rotated, in `out`; x itself where nothing happens to them and no
// `out` is given.
Tensor turned(const Tensor& x, const Tensor& weight, const HeadTurns& turns, Tensor out) {
  const bool norms = weight.defined(), rotates = turns.cos.defined();
  if (!norms && !rotates) {
    if (!out.defined()) return x;
    copy(x, out);
    return out;
  }
  if (!out.defined()) out = empty(x.shape(), DType::kF32);
  const Tensor normed = norms && rotates ? empty(x.shape(), DType::kF32) : out;
  if (norms) rms_norm(x, weight, turns.eps, normed);
  if (!rotates) return out;
  const float* from = norms ? normed.data<float>() : x.data<float>();
  const float *cos = turns.cos.data<float>(), *sin = turns.sin.data<float>();
  const int64_t heads = x.dim(1), dim = x.dim(2), pairs = turns.cos.dim(1);
  float* to = out.mutable_data<float>();
  parallel_for(x.dim(0) * heads, std::max<int64_t>(1, kPiece / dim), [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      const float* row = from + line * dim;
      const int64_t token = line / heads;
      turn(row, cos + token * pairs, sin + token * pairs, pairs, turns.interleaved, to + line * dim);
      std::copy(row + 2 * pairs, row + dim, to + line * dim + 2 * pairs);
    }
  });
  return out;
}

}  // namespace

void attend(const AttendInput& input, const HeadTurns& turns, const KvBlocks& blocks, const PagedRows& rows,
            const PagedAttentionOptions& options, const Tensor& queries, const Tensor& out) {
  const Tensor query = turned(input.query, turns.query_weight, turns, queries);
  cpu::store_kv(turned(input.key, turns.key_weight, turns, Tensor()), input.value, rows, blocks);
  if (out.numel() > 0) paged_attention(query, blocks, rows, options, out);
}

}  // namespace wick::cpu
