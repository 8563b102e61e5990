#pragma once

#include "backends/cuda/quant/packed_codes.cuh"

// Formats with a scale of its own for each group of 32.
namespace wick::cuda {

// Formats of 32 weights. kHead: bytes before a block's codes, a scale in f16 or a scale and another number.
template <typename Block, int kHead>
struct SmallBlocks : NoCodebook {
  static constexpr bool kKnown = true, kWhole = false, kBy32 = true, kSigned = true;
  static constexpr int kSums = 0;
  static constexpr int kBlock = sizeof(Block), kBytes = 8 * kBlock;
  struct Scales {
    const uint8_t* row;
    int left;
    __device__ __forceinline__ float number(int group, int at) const {
      return group < left ? read_half(row + group * kBlock + at) : 0;
    }
    __device__ __forceinline__ float step(int group) const { return number(group, 0); }
    __device__ __forceinline__ float other(int group) const { return number(group, 2); }
  };
  template <bool kAligned>
  static __device__ __forceinline__ Scales scales(const uint8_t* row, int left) {
    return {row, left};
  }
};

// Both nibbles of a word are codes of one group.
template <typename Block, int kHead>
struct NibbleBlocks : SmallBlocks<Block, kHead> {
  static constexpr Order kOrder = Order::kFour;
  static constexpr int kWords = 2;
  // Word t behind the first kAt bytes of the blocks of groups 2j and 2j + 1.
  template <bool kAligned, int kAt>
  static __device__ __forceinline__ void read_at(const uint8_t* row, int j, int t, uint32_t* to) {
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      constexpr int kBlock = sizeof(Block);
      const uint8_t* from = row + (2 * j + u) * kBlock + kAt + t * 4;
      if constexpr (kBlock % 2 != 0) {
        to[u] = read_word(from);
      } else {
        read_words<1, kAligned>(from, u * kBlock + kAt, to + u);
      }
    }
  }
  template <bool kAligned>
  static __device__ __forceinline__ void load(const uint8_t* row, int j, int t, uint32_t* raw) {
    read_at<kAligned, kHead>(row, j, t, raw);
  }
};

// Bytes are codes. kGroups of 32 make a block.
template <typename Block, int kHead, int kGroups = 1>
struct ByteBlocks : SmallBlocks<Block, kHead> {
  static constexpr Order kOrder = Order::kEight;
  static constexpr int kWords = 4, kBlock = sizeof(Block), kBytes = 8 / kGroups * kBlock;
  template <bool kAligned>
  static __device__ __forceinline__ void load(const uint8_t* row, int j, int t, uint32_t (&raw)[kWords]) {
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      const int at = u / kGroups * kBlock + kHead + u % kGroups * 32;  // behind the first of two groups' blocks
      read_words<2, kAligned>(row + 2 * j / kGroups * kBlock + at + t * 8, at, raw + 2 * u);
    }
  }
  template <typename Scales>
  static __device__ __forceinline__ uint2 codes(const uint32_t (&raw)[kWords], int, int u, const Scales&) {
    return {raw[2 * u], raw[2 * u + 1]};
  }
};

template <>
struct Codes<BlockQ8_0> : ByteBlocks<BlockQ8_0, 2> {};

// Bytes from 0 on, less a zero that need not be their middle: what is left is times the sums of activations.
template <>
struct Codes<BlockGroup8> : ByteBlocks<BlockGroup8, 4> {
  static constexpr int kSums = 8;
  struct Scales : ByteBlocks<BlockGroup8, 4>::Scales {
    __device__ __forceinline__ float other(int group) const {
      return __fmul_rn(step(group), __fsub_rn(128, number(group, 2)));
    }
  };
  template <bool kAligned>
  static __device__ __forceinline__ Scales scales(const uint8_t* row, int left) {
    return {{row, left}};
  }
  static __device__ __forceinline__ uint2 codes(const uint32_t (&raw)[kWords], int, int u, const Scales&) {
    return {raw[2 * u] ^ 0x80808080u, raw[2 * u + 1] ^ 0x80808080u};
  }
};

// A scale in f32, the same in all of a row.
template <>
struct Codes<BlockI8Channel> : ByteBlocks<BlockI8Channel, 4, 2> {
  struct Scales : ByteBlocks<BlockI8Channel, 4, 2>::Scales {
    __device__ __forceinline__ float step(int group) const {
      return group < left ? __uint_as_float(read_word(row + group / 2 * kBlock)) : 0;
    }
  };
  template <bool kAligned>
  static __device__ __forceinline__ Scales scales(const uint8_t* row, int left) {
    return {{row, left}};
  }
};

template <>
struct Codes<BlockQ4_0> : NibbleBlocks<BlockQ4_0, 2> {
  static __device__ __forceinline__ uint2 codes(const uint32_t (&raw)[kWords], int, int u, const Scales&) {
    return {bytes_less(nibbles(raw[u], 0), 8), bytes_less(nibbles(raw[u], 1), 8)};
  }
};

template <>
struct Codes<BlockQ4_1> : NibbleBlocks<BlockQ4_1, 4> {
  static constexpr int kSums = 8;
  static __device__ __forceinline__ uint2 codes(const uint32_t (&raw)[kWords], int, int u, const Scales&) {
    return {nibbles(raw[u], 0), nibbles(raw[u], 1)};
  }
};

// Words of nibbles, then the high bits of all 32 codes, those of lane t shifted to the first places of each half.
template <typename Block, int kHead>
struct FiveBitBlocks : NibbleBlocks<Block, kHead> {
  static constexpr int kWords = 4;
  template <bool kAligned>
  static __device__ __forceinline__ void load(const uint8_t* row, int j, int t, uint32_t (&raw)[kWords]) {
    using Nibbles = NibbleBlocks<Block, kHead>;
    Nibbles::template load<kAligned>(row, j, t, raw);
    Nibbles::template read_at<kAligned, kHead - 4>(row, j, 0, raw + 2);
#pragma unroll
    for (int u = 0; u < 2; ++u) raw[2 + u] >>= t * 4;
  }
  static __device__ __forceinline__ uint2 five_bits(const uint32_t (&raw)[kWords], int u) {
    return {nibbles(raw[u], 0) | bits_of_bytes(raw[2 + u]) << 4, nibbles(raw[u], 1) | bits_of_bytes(raw[2 + u] >> 16)
                                                                                          << 4};
  }
};

template <>
struct Codes<BlockQ5_0> : FiveBitBlocks<BlockQ5_0, 6> {
  static __device__ __forceinline__ uint2 codes(const uint32_t (&raw)[kWords], int, int u, const Scales&) {
    const uint2 both = five_bits(raw, u);
    return {bytes_less(both.x, 16), bytes_less(both.y, 16)};
  }
};

template <>
struct Codes<BlockQ5_1> : FiveBitBlocks<BlockQ5_1, 8> {
  static constexpr int kSums = 8;
  static __device__ __forceinline__ uint2 codes(const uint32_t (&raw)[kWords], int, int u, const Scales&) {
    return five_bits(raw, u);
  }
};

template <>
struct Codes<BlockGroup4> : NibbleBlocks<BlockGroup4, 4> {
  // Zeros are whole numbers from 0 to 16.
  static __device__ __forceinline__ uint2 codes(const uint32_t (&raw)[kWords], int j, int u, const Scales& scales) {
    const auto zero = static_cast<uint32_t>(static_cast<int>(scales.other(2 * j + u)));
    return {bytes_less(nibbles(raw[u], 0), zero), bytes_less(nibbles(raw[u], 1), zero)};
  }
};

template <>
struct Codes<BlockIQ4_NL> : NibbleBlocks<BlockIQ4_NL, 2> {
  static __device__ __forceinline__ uint2 codes(const uint32_t (&raw)[kWords], int, int u, const Scales&) {
    return look_up<kIq4Values>(raw[u]);
  }
};

template <>
struct Codes<BlockMXFP4> : NibbleBlocks<BlockMXFP4, 1> {
  struct Scales : NibbleBlocks<BlockMXFP4, 1>::Scales {
    __device__ __forceinline__ float step(int group) const {  // see mxfp4_scale
      if (group >= left) return 0;
      const uint32_t exponent = row[group * kBlock];
      return __uint_as_float(exponent < 2 ? 0x00200000u << exponent : (exponent - 1) << 23);
    }
  };
  template <bool kAligned>
  static __device__ __forceinline__ Scales scales(const uint8_t* row, int left) {
    return {{row, left}};
  }
  static __device__ __forceinline__ uint2 codes(const uint32_t (&raw)[kWords], int, int u, const Scales&) {
    return look_up<kE2M1Doubled>(raw[u]);
  }
};

}  // namespace wick::cuda
