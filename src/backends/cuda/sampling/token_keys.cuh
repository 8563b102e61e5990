#pragma once

#include <cstdint>

#include "ops/layers/token_draw.h"

// Keys of tokens: see order_key(). Those that may come lie between kUnusable and kLastUsable.
namespace wick::cuda {

inline constexpr uint64_t kUnusable = 0;  // comes before every other key
inline constexpr uint64_t kLastUsable = order_key(descending(-3.402823466e38f), 0xffffffffull);

__device__ __forceinline__ uint64_t key_of(float logit, int token) {
  return order_key(descending(logit), static_cast<uint32_t>(token));
}
// Infinity and what is not a number spoil their row.
__device__ __forceinline__ uint64_t checked_key(float logit, int token) {
  return logit < INFINITY ? key_of(logit, token) : kUnusable;
}
__device__ __forceinline__ bool is_usable(uint64_t key) { return key != kUnusable && key <= kLastUsable; }

// The least key of all lanes, in every lane.
__device__ __forceinline__ uint64_t least_of_warp(uint64_t key) {
  const auto high = static_cast<uint32_t>(key >> 32), least = __reduce_min_sync(0xffffffffu, high);
  const uint32_t low = high == least ? static_cast<uint32_t>(key) : ~0u;
  return uint64_t{least} << 32 | __reduce_min_sync(0xffffffffu, low);
}

}  // namespace wick::cuda
