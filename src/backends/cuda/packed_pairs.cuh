#pragma once

#include "backends/cuda/packed_weight.cuh"

// Two neighbouring weights of a block as f16, in few instructions: what the products with packed weights compute with.
// A format gives
//   kGroup               weights that share a scale; a multiple of 16
//   scales(block, group) (step, min) of a group, rounded to f16
//   pair(block, i, s)    weights i and i + 1 (i even): step * q - min
// Blocks are read by 2 bytes at a time, wherever they lie.
namespace wick::cuda {

template <typename Block>
struct Pairs {
  static constexpr bool kKnown = false;
};

__device__ __forceinline__ uint32_t read16(const uint8_t* from) { return *reinterpret_cast<const uint16_t*>(from); }
__device__ __forceinline__ float read_half(const uint8_t* from) {
  return half_bits(static_cast<uint16_t>(read16(from)));
}
// Two bytes, each in its own half of the register.
__device__ __forceinline__ uint32_t spread(uint32_t two) { return __byte_perm(two, 0, 0x4140); }
// Small integers in both halves as f16: 1024 + q has q in its last bits. Then minus `offset`.
__device__ __forceinline__ __half2 small_integers(uint32_t both, float offset) {
  const uint32_t bits = both | 0x64006400u;
  return __hsub2(*reinterpret_cast<const __half2*>(&bits), __float2half2_rn(1024.0f + offset));
}
__device__ __forceinline__ __half2 affine(__half2 quants, __half2 scales) {
  return __hfma2(quants, __low2half2(scales), __hneg2(__high2half2(scales)));
}
__device__ __forceinline__ __half2 linear(__half2 quants, __half2 scales) {
  return __hmul2(quants, __low2half2(scales));
}

template <>
struct Pairs<BlockQ4_K> {
  static constexpr bool kKnown = true;
  static constexpr int kGroup = 32;
  static __device__ __forceinline__ __half2 scales(const uint8_t* block, int group) {
    const int2 both = group_scale(block + 4, group);
    return __floats2half2_rn(read_half(block) * static_cast<float>(both.x),
                             read_half(block + 2) * static_cast<float>(both.y));
  }
  static __device__ __forceinline__ __half2 pair(const uint8_t* block, int i, __half2 s) {
    const uint32_t two = spread(read16(block + 16 + i / 64 * 32 + i % 32));
    return affine(small_integers(two >> i / 32 % 2 * 4 & 0x000f000fu, 0), s);
  }
};

template <>
struct Pairs<BlockQ5_K> {
  static constexpr bool kKnown = true;
  static constexpr int kGroup = 32;
  static __device__ __forceinline__ __half2 scales(const uint8_t* block, int group) {
    return Pairs<BlockQ4_K>::scales(block, group);
  }
  static __device__ __forceinline__ __half2 pair(const uint8_t* block, int i, __half2 s) {
    const uint32_t low = spread(read16(block + 48 + i / 64 * 32 + i % 32)) >> i / 32 % 2 * 4 & 0x000f000fu;
    const uint32_t high = (spread(read16(block + 16 + i % 32)) >> i / 32 & 0x00010001u) << 4;
    return affine(small_integers(low | high, 0), s);
  }
};

template <>
struct Pairs<BlockQ6_K> {
  static constexpr bool kKnown = true;
  static constexpr int kGroup = 16;
  static __device__ __forceinline__ __half2 scales(const uint8_t* block, int group) {
    const float step = read_half(block + 208) * static_cast<float>(static_cast<int8_t>(block[192 + group]));
    return __floats2half2_rn(step, 0);
  }
  static __device__ __forceinline__ __half2 pair(const uint8_t* block, int i, __half2 s) {
    const int half = i / 128, j = i % 128;
    const uint32_t low = spread(read16(block + half * 64 + j % 64)) >> j / 64 * 4 & 0x000f000fu;
    const uint32_t high = (spread(read16(block + 128 + half * 32 + j % 32)) >> j / 32 * 2 & 0x00030003u) << 4;
    return linear(small_integers(low | high, 32), s);
  }
};

template <>
struct Pairs<BlockQ8_0> {
  static constexpr bool kKnown = true;
  static constexpr int kGroup = 32;
  static __device__ __forceinline__ __half2 scales(const uint8_t* block, int) {
    return __floats2half2_rn(read_half(block), 0);
  }
  static __device__ __forceinline__ __half2 pair(const uint8_t* block, int i, __half2 s) {
    return linear(small_integers(spread(read16(block + 2 + i) ^ 0x8080u), 128), s);
  }
};

template <>
struct Pairs<BlockQ4_0> {
  static constexpr bool kKnown = true;
  static constexpr int kGroup = 32;
  static __device__ __forceinline__ __half2 scales(const uint8_t* block, int) {
    return __floats2half2_rn(read_half(block), 0);
  }
  static __device__ __forceinline__ __half2 pair(const uint8_t* block, int i, __half2 s) {
    return linear(small_integers(spread(read16(block + 2 + i % 16)) >> i / 16 * 4 & 0x000f000fu, 8), s);
  }
};

template <>
struct Pairs<BlockQ4_1> {
  static constexpr bool kKnown = true;
  static constexpr int kGroup = 32;
  static __device__ __forceinline__ __half2 scales(const uint8_t* block, int) {
    return __floats2half2_rn(read_half(block), -read_half(block + 2));
  }
  static __device__ __forceinline__ __half2 pair(const uint8_t* block, int i, __half2 s) {
    return affine(small_integers(spread(read16(block + 4 + i % 16)) >> i / 16 * 4 & 0x000f000fu, 0), s);
  }
};

template <>
struct Pairs<BlockGroup4> {
  static constexpr bool kKnown = true;
  static constexpr int kGroup = 32;
  static __device__ __forceinline__ __half2 scales(const uint8_t* block, int) {
    return __floats2half2_rn(read_half(block), read_half(block + 2));  // the second is the zero, a whole number
  }
  static __device__ __forceinline__ __half2 pair(const uint8_t* block, int i, __half2 s) {
    const __half2 quants = small_integers(spread(read16(block + 4 + i % 16)) >> i / 16 * 4 & 0x000f000fu, 0);
    return linear(__hsub2(quants, __high2half2(s)), s);
  }
};

}  // namespace wick::cuda
