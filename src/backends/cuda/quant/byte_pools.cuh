#pragma once

#include "backends/cuda/quant/packed_codes.cuh"

// Keys and values in 8 bits on the tensor cores: their codes, which f16 and bf16 hold as they are. Scores are
// multiplied with the scales of keys and weights with those of values, in f32; weights are then rounded to bf16, whose
// range is that of the scales.
namespace wick::cuda {

// What keys and values of a pool are in shared memory.
template <typename T>
struct OnCores {
  using Key = T;
  using Value = T;
  static constexpr bool kScaled = false;
};
template <>
struct OnCores<int8_t> {
  using Key = __half;
  using Value = __nv_bfloat16;
  static constexpr bool kScaled = true;
};

template <typename To>
__device__ __forceinline__ uint4 widen_codes(uint2 eight) {
  const uint2 low = halves_of(eight.x), high = halves_of(eight.y);
  const auto as = [](uint32_t halves) {
    if constexpr (std::is_same_v<To, __half>) return halves;
    const float2 pair = __half22float2(*reinterpret_cast<const __half2*>(&halves));
    return round_pair<To>(pair.x, pair.y);
  };
  return {as(low.x), as(low.y), as(high.x), as(high.y)};
}

// Brings chunks first, first + kStep and so on of kCount, eight codes each, from from(i), or zeros where that is null,
// to place(i) in shared memory. Several are on their way at a time.
template <typename To, int kCount, int kStep, typename From, typename Place>
__device__ __forceinline__ void widen_chunks(int first, const From& from, const Place& place) {
  constexpr int kAtOnce = 8;
#pragma unroll 1
  for (int base = first; base < kCount; base += kStep * kAtOnce) {
    uint2 codes[kAtOnce];
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j) {
      const int i = base + j * kStep;
      const int8_t* at = i < kCount ? from(i) : nullptr;
      codes[j] = at ? *reinterpret_cast<const uint2*>(at) : uint2{0, 0};
    }
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j) {
      const int i = base + j * kStep;
      if (i < kCount) *reinterpret_cast<uint4*>(place(i)) = widen_codes<To>(codes[j]);
    }
  }
}

}  // namespace wick::cuda
