#include "ops/layers/recurrence.h"

#include <algorithm>
#include <cmath>

#include "backends/cpu/kernels.h"
#include "base/thread_pool.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/basic/delta_rule.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#ifndef WICK_BACKENDS_CPU_DELTA_RULE
#define WICK_BACKENDS_CPU_DELTA_RULE
namespace wick::cpu {

// Some columns of one head's memory, and the sequence's rows for it: row t of each lies `t * stride` behind the first.
struct DeltaRulePiece {
  const float *queries, *keys, *values, *falls, *betas;
  int64_t query_stride, key_stride, value_stride, fall_stride, beta_stride, out_stride;
  float *state, *out;
  int64_t rows, key_dim, dim, columns;
  float scale;
};

}  // namespace wick::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace wick::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// kVectors columns of vectors at once. The memory is read and written once per row: while it takes up what one row
// brings it is faded and read for the next, so that only the state between calls is stored before it fades.
template <int kVectors, class D>
HWY_INLINE void RunColumns(D d, const cpu::DeltaRulePiece& piece, int64_t first) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), dim = piece.dim;
  float* const state = piece.state + first;
  hn::Vec<D> known[kVectors], change[kVectors], read[kVectors];
  const auto kept_at = [&](int64_t t) { return std::exp(-piece.falls[t * piece.fall_stride]); };
  float kept = kept_at(0);
  for (auto& each : known) each = hn::Zero(d);
  for (int64_t n = 0; n < piece.key_dim; ++n) {
    const auto key = hn::Set(d, piece.keys[n]), fade = hn::Set(d, kept);
    for (int v = 0; v < kVectors; ++v) {
      const auto faded = hn::Mul(fade, hn::LoadU(d, state + n * dim + v * lanes));
      known[v] = hn::MulAdd(faded, key, known[v]);
    }
  }
  for (int64_t t = 0; t < piece.rows; ++t) {
    const float *keys = piece.keys + t * piece.key_stride, *queries = piece.queries + t * piece.query_stride;
    const bool is_last = t + 1 == piece.rows;
    const float *next_keys = is_last ? keys : keys + piece.key_stride, next_kept = is_last ? 1.f : kept_at(t + 1);
    const auto beta = hn::Set(d, piece.betas[t * piece.beta_stride]), fade = hn::Set(d, t == 0 ? kept : 1.f);
    const auto next_fade = hn::Set(d, next_kept);
    for (int v = 0; v < kVectors; ++v) {
      const auto value = hn::LoadU(d, piece.values + t * piece.value_stride + first + v * lanes);
      change[v] = hn::Mul(beta, hn::Sub(value, known[v]));
      known[v] = read[v] = hn::Zero(d);
    }
    for (int64_t n = 0; n < piece.key_dim; ++n) {
      float* const row = state + n * dim;
      const auto key = hn::Set(d, keys[n]), query = hn::Set(d, queries[n]), next_key = hn::Set(d, next_keys[n]);
      for (int v = 0; v < kVectors; ++v) {
        const auto taken = hn::MulAdd(key, change[v], hn::Mul(fade, hn::LoadU(d, row + v * lanes)));
        read[v] = hn::MulAdd(taken, query, read[v]);
        const auto faded = hn::Mul(next_fade, taken);
        known[v] = hn::MulAdd(faded, next_key, known[v]);
        hn::StoreU(faded, d, row + v * lanes);
      }
    }
    const auto scale = hn::Set(d, piece.scale);
    for (int v = 0; v < kVectors; ++v) {
      hn::StoreU(hn::Mul(scale, read[v]), d, piece.out + t * piece.out_stride + first + v * lanes);
    }
  }
}

void DeltaRule(const cpu::DeltaRulePiece& piece) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + 4 * lanes <= piece.columns; i += 4 * lanes) RunColumns<4>(d, piece, i);
  for (; i + lanes <= piece.columns; i += lanes) RunColumns<1>(d, piece, i);
  for (; i < piece.columns; ++i) RunColumns<1>(hn::CappedTag<float, 1>(), piece, i);
}

}  // namespace
}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick {
HWY_EXPORT(DeltaRule);
}  // namespace wick

namespace wick::cpu {

// A thread takes some columns of a head's memory through all rows of a sequence.
void delta_rule_scan(const Tensor& queries, const Tensor& keys, const Tensor& values, const Tensor& falls,
                     const Tensor& betas, std::span<const StateRows> sequences, const Tensor& out) {
  constexpr int64_t kColumns = 64;
  const Shape& state = sequences.front().state.shape();
  const int64_t heads = state[0], key_dim = state[1], dim = state[2], per_key = heads / (keys.dim(1) / key_dim);
  const int64_t pieces = (dim + kColumns - 1) / kColumns, per_sequence = heads * pieces;
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(key_dim)));
  parallel_for(static_cast<int64_t>(sequences.size()) * per_sequence, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const StateRows& of = sequences[static_cast<size_t>(i / per_sequence)];
      if (of.count == 0) continue;
      const int64_t head = i % per_sequence / pieces, first = i % pieces * kColumns;
      const auto row = [&](const Tensor& x, int64_t column) {
        return x.data<float>() + of.begin * x.strides()[0] + column;
      };
      DeltaRulePiece piece;
      piece.queries = row(queries, head / per_key * key_dim);
      piece.keys = row(keys, head / per_key * key_dim);
      piece.values = row(values, head * dim + first);
      piece.falls = row(falls, head);
      piece.betas = row(betas, head);
      piece.query_stride = queries.strides()[0];
      piece.key_stride = keys.strides()[0];
      piece.value_stride = values.strides()[0];
      piece.fall_stride = falls.strides()[0];
      piece.beta_stride = betas.strides()[0];
      piece.out_stride = out.strides()[0];
      piece.state = of.state.mutable_data<float>() + head * key_dim * dim + first;
      piece.out = out.mutable_data<float>() + of.begin * out.strides()[0] + head * dim + first;
      piece.rows = of.count;
      piece.key_dim = key_dim;
      piece.dim = dim;
      piece.columns = std::min(kColumns, dim - first);
      piece.scale = scale;
      HWY_DYNAMIC_DISPATCH(DeltaRule)(piece);
    }
  });
}

}  // namespace wick::cpu
#endif  // HWY_ONCE
