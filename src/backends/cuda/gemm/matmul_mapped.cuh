#pragma once

#include "backends/cuda/gemm/input_rows.cuh"
#include "backends/cuda/gemm/mma.cuh"
#include "backends/cuda/gemm/tensor_map.h"
#include "backends/cuda/gemm/weight_tiles.cuh"

// What the kernels with tensor maps share: the order of tiles, and what becomes of their sums.
namespace wick::cuda {

// A unit is a tile of weights and the rows of x that the blocks of a cluster have. Units of the same weights are next
// to each other, up to 16 tiles of rows.
struct UnitPlace {
  int unit_m, tile_n;
};
template <int kCluster>
__device__ __forceinline__ UnitPlace place_of_unit(int unit, int units_m, int tiles_n) {
  constexpr int kUnits = 16 / kCluster;
  const int group = unit / (kUnits * tiles_n), rest = unit % (kUnits * tiles_n);
  const int size = min(kUnits, units_m - group * kUnits);
  return {group * kUnits + rest % size, rest / size};
}

// Where results of a job go, and what is added to them. Held in registers: the compiler would read the plan again after
// every store.
template <typename T>
class Target {
 public:
  __device__ __forceinline__ Target(const MappedPlan& mapped, int job)
      : out_(mapped.plan.jobs[job].out),
        bias_(mapped.plan.jobs[job].bias),
        up_bias_(mapped.plan.jobs[1].bias),
        residual_(mapped.plan.jobs[job].residual),
        m_(static_cast<int>(mapped.plan.m)),
        n_(static_cast<int>(mapped.plan.jobs[job].n)),
        gated_(mapped.plan.gated),
        by_pair_(mapped.by_pair),
        out_f32_(mapped.plan.out_dtype == DType::kF32),
        plain_(by_pair_ && (out_f32_ || gated_) && !bias_ && !(gated_ && (up_bias_ || residual_))) {}

  // The sums of a thread as multiply_async leaves them: pairs of columns 8 apart, of rows `row` and `row` + 8. Gated:
  // the second half of them is of up.
  template <int kCount>
  __device__ __forceinline__ void store_all(int row, int column, const float (&total)[kCount]) const {
    constexpr int kPairs = kCount / 4, kBatch = kPairs % 4 == 0 ? 4 : kPairs % 3 == 0 ? 3 : kPairs;
    const int pairs = gated_ ? kPairs / 2 : kPairs;
#pragma unroll
    for (int low = 0; low < 2; ++low) {
      const int at = row + low * 8;
      if (at >= m_) continue;
      float* out = static_cast<float*>(out_) + int64_t{at} * n_ + column;
      T* rounded = static_cast<T*>(out_) + int64_t{at} * n_ + column;
      if (!plain_ || column + pairs * 8 - 6 > n_) {
#pragma unroll
        for (int j = 0; j < kPairs; ++j) {
          const float2 up = pair(total, (j + kPairs / 2) % kPairs, low);
          if (j < pairs) store(at, column + j * 8, pair(total, j, low), up);
        }
      } else if (gated_) {
#pragma unroll
        for (int j = 0; j < kPairs / 2; ++j) {
          const float2 gate = pair(total, j, low), up = pair(total, j + kPairs / 2, low);
          const float2 both{gated(gate.x, up.x), gated(gate.y, up.y)};
          if (out_f32_) {
            *reinterpret_cast<float2*>(out + j * 8) = both;
          } else {
            *reinterpret_cast<uint32_t*>(rounded + j * 8) = round_pair<T>(both.x, both.y);
          }
        }
      } else if (residual_) {
        const float* added = residual_ + int64_t{at} * n_ + column;
#pragma unroll
        for (int first = 0; first < kPairs; first += kBatch) {
          float2 more[kBatch];
#pragma unroll
          for (int j = 0; j < kBatch; ++j) more[j] = *reinterpret_cast<const float2*>(added + (first + j) * 8);
#pragma unroll
          for (int j = 0; j < kBatch; ++j) {
            const float2 two = pair(total, first + j, low);
            *reinterpret_cast<float2*>(out + (first + j) * 8) = plus(two, more[j]);
          }
        }
      } else {
#pragma unroll
        for (int j = 0; j < kPairs; ++j) *reinterpret_cast<float2*>(out + j * 8) = pair(total, j, low);
      }
    }
  }

 private:
  template <int kCount>
  static __device__ __forceinline__ float2 pair(const float (&total)[kCount], int j, int low) {
    return {total[j * 4 + low * 2], total[j * 4 + low * 2 + 1]};
  }
  // Two neighbours, of which one or both may be outside; `up` counts where gated.
  __device__ __forceinline__ void store(int row, int column, float2 result, float2 up) const {
    if (column >= n_) return;
    if (bias_) result = plus(result, load(bias_, column));
    if (gated_) {
      if (up_bias_) up = plus(up, load(up_bias_, column));
      result = {gated(result.x, up.x), gated(result.y, up.y)};
    }
    const int64_t at = int64_t{row} * n_;
    if (residual_) result = plus(result, load(residual_ + at, column));
    if (out_f32_) {
      put(static_cast<float*>(out_) + at + column, column, result);
    } else if (by_pair_) {
      *reinterpret_cast<uint32_t*>(static_cast<T*>(out_) + at + column) = round_pair<T>(result.x, result.y);
    } else {
      put(static_cast<T*>(out_) + at + column, column, result);
    }
  }
  __device__ __forceinline__ float2 load(const float* row, int column) const {
    if (by_pair_) return *reinterpret_cast<const float2*>(row + column);
    return {row[column], column + 1 < n_ ? row[column + 1] : 0};
  }
  template <typename Out>
  __device__ __forceinline__ void put(Out* out, int column, float2 result) const {
    out[0] = to<Out>(result.x);
    if (column + 1 < n_) out[1] = to<Out>(result.y);
  }
  static __device__ __forceinline__ float2 plus(float2 a, float2 b) { return {a.x + b.x, a.y + b.y}; }

  void* out_;
  const float *bias_, *up_bias_, *residual_;
  int m_, n_;
  bool gated_, by_pair_, out_f32_;
  bool plain_;  // f32 results, pairs at a time, perhaps with a residual, or gated ones in f32 or T
};

}  // namespace wick::cuda
