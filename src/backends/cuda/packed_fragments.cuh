#pragma once

#include "backends/cuda/packed_pairs.cuh"

// Weights of packed rows as the tensor cores want them, many at a time: the same f16 numbers that Pairs makes.
//
// Products with packed weights take the 16 columns of a step in the order in which a lane finds them in one word: lane
// t of four has columns 4t and 4t + 2 at places 2t and 2t + 1, and columns 4t + 1 and 4t + 3 at places 2t + 8 and 2t
// + 9. Whoever multiplies unpacked weights puts them and the activations into this order, too.
//
// A format works on 128 columns ("half" of 256) of a row in shared memory:
//   scales(row, half, out)   for each 32 columns (step, min), or the steps of both 16 columns
//   load(row, half, t, raw)  what lane t needs of them
//   pairs(raw, q, s, scale)  its weights of the 16 columns s of the 32 columns q: places 2t and 2t + 8
namespace wick::cuda {

template <typename Block>
struct Fragments {
  static constexpr bool kKnown = false;
};

struct FragmentPairs {
  uint32_t low, high;  // columns 4t and 4t + 2; columns 4t + 1 and 4t + 3
};

__device__ __forceinline__ uint32_t read32(const uint8_t* from) { return read16(from) | read16(from + 2) << 16; }
__device__ __forceinline__ uint32_t read32_aligned(const uint8_t* from) {
  return *reinterpret_cast<const uint32_t*>(from);
}
__device__ __forceinline__ __half2 as_half2(uint32_t bits) { return *reinterpret_cast<const __half2*>(&bits); }
// (word & mask) | 0x64006400 in one instruction: two integers in their halves as f16, plus 1024.
__device__ __forceinline__ __half2 plus_1024(uint32_t word, uint32_t mask) {
  uint32_t bits;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(bits) : "r"(word), "r"(mask), "r"(0x64006400u));
  return as_half2(bits);
}
__device__ __forceinline__ __half2 minus(__half2 value, float offset) {
  return __hsub2(value, __float2half2_rn(1024.0f + offset));
}
// Two integers below 1024 in their halves, as f16, minus `offset`.
__device__ __forceinline__ __half2 integers(uint32_t bits, float offset) {
  return minus(as_half2(bits | 0x64006400u), offset);
}
// Nibbles or bytes 0 and 2 of a word; shifted by 8, of bytes 1 and 3.
__device__ __forceinline__ __half2 low_nibbles(uint32_t word) { return minus(plus_1024(word, 0x000f000fu), 0); }
__device__ __forceinline__ __half2 high_nibbles(uint32_t word) {  // of 1024 + 16 q, exactly
  return __hfma2(plus_1024(word, 0x00f000f0u), __float2half2_rn(0.0625f), __float2half2_rn(-64.0f));
}
__device__ __forceinline__ __half2 even_bytes(uint32_t word, float offset) {
  return minus(plus_1024(word, 0x00ff00ffu), offset);
}
__device__ __forceinline__ FragmentPairs affine_pairs(__half2 low, __half2 high, __half2 scale) {
  return {pack_pair(affine(low, scale)), pack_pair(affine(high, scale))};
}
__device__ __forceinline__ FragmentPairs linear_pairs(__half2 low, __half2 high, __half2 step) {
  return {pack_pair(__hmul2(low, step)), pack_pair(__hmul2(high, step))};
}

// (step, min) of four groups of Q4_K and Q5_K from a block's first 16 bytes; see group_scale.
__device__ __forceinline__ void group_scales(const uint8_t* block, int half, __half2 (&out)[4]) {
  const uint4 head = *reinterpret_cast<const uint4*>(block);
  const uint32_t a = head.y, b = head.z, c = head.w;
  const uint32_t steps = half ? (c & 0x0f0f0f0fu) | (a >> 2 & 0x30303030u) : a & 0x3f3f3f3fu;
  const uint32_t mins = half ? (c >> 4 & 0x0f0f0f0fu) | (b >> 2 & 0x30303030u) : b & 0x3f3f3f3fu;
  const uint32_t first = __byte_perm(steps, mins, 0x5140), second = __byte_perm(steps, mins, 0x7362);
  const __half2 scale = as_half2(head.x);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const uint32_t both = __byte_perm(i < 2 ? first : second, 0, i % 2 ? 0x4342 : 0x4140);
    out[i] = __hmul2(integers(both, 0), scale);
  }
}

template <>
struct Fragments<BlockQ4_K> {
  static constexpr bool kKnown = true, kWhole = true;           // kWhole: blocks lie at multiples of 16 bytes
  static constexpr int kWords = 4, kBytes = sizeof(BlockQ4_K);  // of 256 columns
  static __device__ __forceinline__ void scales(const uint8_t* row, int half, __half2 (&out)[4]) {
    group_scales(row, half, out);
  }
  static __device__ __forceinline__ void load(const uint8_t* row, int half, int t, uint32_t (&raw)[kWords]) {
#pragma unroll
    for (int i = 0; i < kWords; ++i) raw[i] = read32_aligned(row + 16 + half * 64 + i * 16 + t * 4);
  }
  static __device__ __forceinline__ FragmentPairs pairs(const uint32_t (&raw)[kWords], int, int q, int s,
                                                        __half2 scale) {
    const uint32_t word = raw[q / 2 * 2 + s];
    return q % 2 ? affine_pairs(high_nibbles(word), high_nibbles(word >> 8), scale)
                 : affine_pairs(low_nibbles(word), low_nibbles(word >> 8), scale);
  }
};

template <>
struct Fragments<BlockQ5_K> {
  static constexpr bool kKnown = true, kWhole = true;
  static constexpr int kWords = 6, kBytes = sizeof(BlockQ5_K);
  static __device__ __forceinline__ void scales(const uint8_t* row, int half, __half2 (&out)[4]) {
    group_scales(row, half, out);
  }
  static __device__ __forceinline__ void load(const uint8_t* row, int half, int t, uint32_t (&raw)[kWords]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) raw[i] = read32_aligned(row + 48 + half * 64 + i * 16 + t * 4);
#pragma unroll
    for (int s = 0; s < 2; ++s) raw[4 + s] = read32_aligned(row + 16 + s * 16 + t * 4);
  }
  static __device__ __forceinline__ FragmentPairs pairs(const uint32_t (&raw)[kWords], int half, int q, int s,
                                                        __half2 scale) {
    const uint32_t word = raw[q / 2 * 2 + s] >> q % 2 * 4, bits = raw[4 + s] >> (half * 4 + q);
    const uint32_t all = (word & 0x0f0f0f0fu) | (bits & 0x01010101u) << 4;
    return affine_pairs(even_bytes(all, 0), even_bytes(all >> 8, 0), scale);
  }
};

template <>
struct Fragments<BlockQ6_K> {
  static constexpr bool kKnown = true, kWhole = false;
  static constexpr int kWords = 6, kBytes = sizeof(BlockQ6_K);
  static __device__ __forceinline__ void scales(const uint8_t* row, int half, __half2 (&out)[4]) {
    const __half2 scale = __half2half2(__ushort_as_half(static_cast<uint16_t>(read16(row + 208))));
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const uint32_t both = spread(read16(row + 192 + half * 8 + i * 2) ^ 0x8080u);
      out[i] = __hmul2(integers(both, 128), scale);
    }
  }
  static __device__ __forceinline__ void load(const uint8_t* row, int half, int t, uint32_t (&raw)[kWords]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) raw[i] = read32(row + half * 64 + i * 16 + t * 4);
#pragma unroll
    for (int s = 0; s < 2; ++s) raw[4 + s] = read32(row + 128 + half * 32 + s * 16 + t * 4);
  }
  static __device__ __forceinline__ FragmentPairs pairs(const uint32_t (&raw)[kWords], int, int q, int s,
                                                        __half2 scale) {
    const uint32_t word = raw[q % 2 * 2 + s] >> q / 2 * 4, bits = raw[4 + s] >> q * 2;
    const uint32_t all = (word & 0x0f0f0f0fu) | (bits & 0x03030303u) << 4;
    const __half2 step = s ? __high2half2(scale) : __low2half2(scale);
    return linear_pairs(even_bytes(all, 32), even_bytes(all >> 8, 32), step);
  }
};

template <>
struct Fragments<BlockQ8_0> {
  static constexpr bool kKnown = true, kWhole = false;
  static constexpr int kBlock = sizeof(BlockQ8_0), kWords = 8, kBytes = 8 * kBlock;
  static __device__ __forceinline__ void scales(const uint8_t* row, int half, __half2 (&out)[4]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) out[i] = as_half2(read16(row + (half * 4 + i) * kBlock) * 0x10001u);
  }
  static __device__ __forceinline__ void load(const uint8_t* row, int half, int t, uint32_t (&raw)[kWords]) {
#pragma unroll
    for (int i = 0; i < kWords; ++i) raw[i] = read32(row + (half * 4 + i / 2) * kBlock + 2 + i % 2 * 16 + t * 4);
  }
  static __device__ __forceinline__ FragmentPairs pairs(const uint32_t (&raw)[kWords], int, int q, int s,
                                                        __half2 step) {
    const uint32_t word = raw[q * 2 + s] ^ 0x80808080u;
    return linear_pairs(even_bytes(word, 128), even_bytes(word >> 8, 128), step);
  }
};

template <>
struct Fragments<BlockQ4_0> {
  static constexpr bool kKnown = true, kWhole = false;
  static constexpr int kBlock = sizeof(BlockQ4_0), kWords = 4, kBytes = 8 * kBlock;
  static __device__ __forceinline__ void scales(const uint8_t* row, int half, __half2 (&out)[4]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) out[i] = as_half2(read16(row + (half * 4 + i) * kBlock) * 0x10001u);
  }
  static __device__ __forceinline__ void load(const uint8_t* row, int half, int t, uint32_t (&raw)[kWords]) {
#pragma unroll
    for (int i = 0; i < kWords; ++i) raw[i] = read32(row + (half * 4 + i) * kBlock + 2 + t * 4);
  }
  static __device__ __forceinline__ FragmentPairs pairs(const uint32_t (&raw)[kWords], int, int q, int s,
                                                        __half2 step) {
    const uint32_t word = raw[q] >> s * 4;
    return linear_pairs(minus(plus_1024(word, 0x000f000fu), 8), minus(plus_1024(word >> 8, 0x000f000fu), 8), step);
  }
};

template <>
struct Fragments<BlockQ4_1> {
  static constexpr bool kKnown = true, kWhole = false;
  static constexpr int kBlock = sizeof(BlockQ4_1), kWords = 4, kBytes = 8 * kBlock;
  static __device__ __forceinline__ void scales(const uint8_t* row, int half, __half2 (&out)[4]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {  // the sign of the min changes
      out[i] = as_half2(read32(row + (half * 4 + i) * kBlock) ^ 0x80000000u);
    }
  }
  static __device__ __forceinline__ void load(const uint8_t* row, int half, int t, uint32_t (&raw)[kWords]) {
#pragma unroll
    for (int i = 0; i < kWords; ++i) raw[i] = read32(row + (half * 4 + i) * kBlock + 4 + t * 4);
  }
  static __device__ __forceinline__ FragmentPairs pairs(const uint32_t (&raw)[kWords], int, int q, int s,
                                                        __half2 scale) {
    return s ? affine_pairs(high_nibbles(raw[q]), high_nibbles(raw[q] >> 8), scale)
             : affine_pairs(low_nibbles(raw[q]), low_nibbles(raw[q] >> 8), scale);
  }
};

template <>
struct Fragments<BlockGroup4> {
  static constexpr bool kKnown = true, kWhole = false;
  static constexpr int kBlock = sizeof(BlockGroup4), kWords = 4, kBytes = 8 * kBlock;
  static __device__ __forceinline__ void scales(const uint8_t* row, int half, __half2 (&out)[4]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) out[i] = as_half2(read32(row + (half * 4 + i) * kBlock));  // scale and zero
  }
  static __device__ __forceinline__ void load(const uint8_t* row, int half, int t, uint32_t (&raw)[kWords]) {
    Fragments<BlockQ4_1>::load(row, half, t, raw);
  }
  static __device__ __forceinline__ FragmentPairs pairs(const uint32_t (&raw)[kWords], int, int q, int s,
                                                        __half2 scale) {
    const __half2 zero = __high2half2(scale), step = __low2half2(scale);
    const __half2 low = s ? high_nibbles(raw[q]) : low_nibbles(raw[q]);
    const __half2 high = s ? high_nibbles(raw[q] >> 8) : low_nibbles(raw[q] >> 8);
    return linear_pairs(__hsub2(low, zero), __hsub2(high, zero), step);
  }
};

}  // namespace wick::cuda
