#pragma once

#include "backends/cuda/attention/paged_plan.cuh"

namespace wick::cuda {

// One vector by a warp into elements `step` apart; i8 sets its scale.
template <typename T>
__device__ void store_vector(const float* from, int size, T* target, int step, float* scale) {
  const int lane = threadIdx.x % 32;
  if constexpr (std::is_same_v<T, int8_t>) {
    float most = 0;
    bool nan = false;
    for (int d = lane; d < size; d += 32) {
      nan |= from[d] != from[d];
      most = fmaxf(most, fabsf(from[d]));
    }
    most = warp_max(most);
    if (__any_sync(0xffffffffu, nan)) most = __int_as_float(0x7fc00000);
    // Numbers too small for the scale's inverse become 0; infinity and NaN live on in the scale.
    const bool rounds = most > 1e-30f && isfinite(most);
    const float inverse = rounds ? 127.0f / most : 0.0f;
    if (lane == 0) *scale = most / 127.0f;
    for (int d = lane; d < size; d += 32) {
      target[int64_t{d} * step] = rounds ? static_cast<int8_t>(rintf(from[d] * inverse)) : int8_t{0};
    }
  } else {
    for (int d = lane; d < size; d += 32) target[int64_t{d} * step] = to<T>(from[d]);
  }
}

// Where a row's key and value go.
struct PoolPlace {
  int64_t block;
  int slot;
};
__device__ __forceinline__ PoolPlace place_of(const RowPlan& rows, int token) {
  constexpr int kTokens = static_cast<int>(kKvBlockTokens);
  const int sequence = rows.sequence_of(token), position = rows.positions[sequence] + token - rows.starts[sequence];
  return {rows.table[sequence * rows.table_row + position / kTokens], position % kTokens};
}

template <typename T>
__device__ void store_key(const PoolPlan& pool, PoolPlace place, int head, const float* from) {
  T* target = static_cast<T*>(pool.key) + place.block * pool.key_block + head * pool.key_head + place.slot;
  store_vector<T>(from, pool.dim, target, static_cast<int>(kKvBlockTokens),
                  pool.key_scale + place.block * pool.key_scale_block + head * pool.key_scale_head + place.slot);
}

template <typename T>
__device__ void store_value(const PoolPlan& pool, PoolPlace place, int head, const float* from) {
  T* target = static_cast<T*>(pool.value) + place.block * pool.value_block + head * pool.value_head +
              int64_t{place.slot} * pool.value_dim;
  store_vector<T>(from, pool.value_dim, target, 1,
                  pool.value_scale + place.block * pool.value_scale_block + head * pool.value_scale_head + place.slot);
}

}  // namespace wick::cuda
