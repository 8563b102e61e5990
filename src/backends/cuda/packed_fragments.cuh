#pragma once

#include "backends/cuda/mma.cuh"
#include "backends/cuda/packed_pairs.cuh"

// Weights of packed rows as the tensor cores want them, many at a time: the same f16 numbers that Pairs makes.
//
// Products with packed weights take the columns of each 256 in an order in which a lane finds most of what it needs in
// one place: a step of the tensor cores has four neighbours of each of four lanes t, columns 4i and 4i + 2 at places
// 2t and 2t + 1, columns 4i + 1 and 4i + 3 at places 2t + 8 and 2t + 9. Whoever multiplies unpacked weights puts them
// and the activations into this order, too.
//
// A lane has 64 columns of 256, in halves h of 32, each in quarters q of 16: step 8h + 4q + s, s from 0 to 3.
//   scales<kAligned>(row, t, left)  what its weights are multiplied with; `left` blocks of the row are there
//   load<kAligned>(row, h, t, raw)  its words of half h
//   pairs(raw, h, q, s, scales)     four weights: places 2t and 2t + 8
// kAligned: the row's blocks lie at a multiple of 16 bytes. Where kWhole says so they always do.
namespace wick::cuda {

enum class Order {
  kPlain,    // bits of a column: ttqqss.. with h above q
  kSwapped,  // ttqhss..: low nibbles of 32 bytes, then their high nibbles
  kHalves,   // hqttss..: each lane has 16 bytes of each half of a block
};

// Of the four columns from `column` on: 4 step + t, steps counted from the row's first.
__host__ __device__ __forceinline__ int place_in(Order order, int column) {
  const int above = column / 256 * 64, in = column % 256;
  if (order == Order::kHalves) return above + (in / 4 % 4 + in / 64 * 4) * 4 + in / 16 % 4;
  const int step = order == Order::kPlain ? in / 4 % 16 : in / 4 % 4 + in / 32 % 2 * 4 + in / 16 % 2 * 8;
  return above + step * 4 + in / 64;
}

// The first of the four columns at a place.
__host__ __device__ __forceinline__ int column_at(Order order, int place) {
  const int above = place / 64 * 256, step = place / 4 % 16, t = place % 4;
  if (order == Order::kHalves) return above + step / 4 * 64 + t * 16 + step % 4 * 4;
  const int in = order == Order::kPlain ? step * 4 : step / 4 % 2 * 32 + step / 8 * 16 + step % 4 * 4;
  return above + t * 64 + in;
}

template <typename Block>
struct Fragments {
  static constexpr bool kKnown = false;
  static constexpr Order kOrder = Order::kPlain;
};

struct FragmentPairs {
  uint32_t low, high;  // columns 4i and 4i + 2; columns 4i + 1 and 4i + 3
};

__device__ __forceinline__ __half2 as_half2(uint32_t bits) { return *reinterpret_cast<const __half2*>(&bits); }
// kCount words in shared memory at an even place; kAligned: `at` bytes behind a multiple of 4.
template <int kCount, bool kAligned>
__device__ __forceinline__ void read_words(const uint8_t* from, int at, uint32_t* to) {
  const auto place = kAligned ? static_cast<uint32_t>(at) : static_cast<uint32_t>(reinterpret_cast<uintptr_t>(from));
  const uint32_t odd = place & 2;
  const auto* words = reinterpret_cast<const uint32_t*>(from - odd);
  const uint32_t choice = odd ? 0x5432 : 0x3210;
  uint32_t before = words[0];
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const uint32_t next = words[i + 1];
    to[i] = __byte_perm(before, next, choice);
    before = next;
  }
}
// 16 bytes at a multiple of 16.
__device__ __forceinline__ void read_four(const uint8_t* from, uint32_t* to) {
  const uint4 four = *reinterpret_cast<const uint4*>(from);
  to[0] = four.x;
  to[1] = four.y;
  to[2] = four.z;
  to[3] = four.w;
}
// (word & mask) | 0x64006400 in one instruction: two integers in their halves as f16, plus 1024.
__device__ __forceinline__ __half2 plus_1024(uint32_t word, uint32_t mask) {
  uint32_t bits;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(bits) : "r"(word), "r"(mask), "r"(0x64006400u));
  return as_half2(bits);
}
// Of 1024 + q + offset, exactly; f16 counts by one from 1024 on.
__device__ __forceinline__ __half2 minus(__half2 value, uint32_t offset) {
  return __hsub2(value, as_half2((0x6400u + offset) * 0x00010001u));
}
// Nibbles 0 and 4 of a word; shifted by 8, nibbles 2 and 6.
__device__ __forceinline__ __half2 low_nibbles(uint32_t word) { return minus(plus_1024(word, 0x000f000fu), 0); }
__device__ __forceinline__ __half2 high_nibbles(uint32_t word) {  // of 1024 + 16 q, exactly
  constexpr uint32_t kSixteenth = 0x2c002c00u, kMinus64 = 0xd400d400u;
  return __hfma2(plus_1024(word, 0x00f000f0u), as_half2(kSixteenth), as_half2(kMinus64));
}
// Bytes 0 and 2, or 1 and 3.
__device__ __forceinline__ __half2 even_bytes(uint32_t word, uint32_t offset) {
  return minus(as_half2(__byte_perm(word, 0x64646464u, 0x4240)), offset);
}
__device__ __forceinline__ __half2 odd_bytes(uint32_t word, uint32_t offset) {
  return minus(as_half2(__byte_perm(word, 0x64646464u, 0x4341)), offset);
}
__device__ __forceinline__ FragmentPairs nibble_pairs(uint32_t word, int q, __half2 step, __half2 minus_min) {
  const __half2 low = q ? high_nibbles(word) : low_nibbles(word);
  const __half2 high = q ? high_nibbles(word >> 8) : low_nibbles(word >> 8);
  return {pack_pair(__hfma2(low, step, minus_min)), pack_pair(__hfma2(high, step, minus_min))};
}
__device__ __forceinline__ FragmentPairs linear_pairs(__half2 low, __half2 high, __half2 step) {
  return {pack_pair(__hmul2(low, step)), pack_pair(__hmul2(high, step))};
}

// Steps and mins of groups 2t and 2t + 1 of Q4_K and Q5_K from a block's first 16 bytes; see group_scale.
struct GroupScales {
  __half2 steps, minus_mins;
};
__device__ __forceinline__ GroupScales group_scales(const uint8_t* block, int t) {
  const uint4 head = *reinterpret_cast<const uint4*>(block);
  const uint32_t two = t % 2 ? 0x4342 : 0x4140;
  const uint32_t a = __byte_perm(head.y, 0, two), b = __byte_perm(head.z, 0, two), c = __byte_perm(head.w, 0, two);
  const uint32_t steps = t < 2 ? a & 0x003f003fu : (c & 0x000f000fu) | (a >> 2 & 0x00300030u);
  const uint32_t mins = t < 2 ? b & 0x003f003fu : (c >> 4 & 0x000f000fu) | (b >> 2 & 0x00300030u);
  const __half2 scale = as_half2(head.x);
  return {__hmul2(minus(as_half2(steps | 0x64006400u), 0), __low2half2(scale)),
          __hneg2(__hmul2(minus(as_half2(mins | 0x64006400u), 0), __high2half2(scale)))};
}
__device__ __forceinline__ __half2 one_of(__half2 both, int q) { return q ? __high2half2(both) : __low2half2(both); }

template <>
struct Fragments<BlockQ4_K> {
  static constexpr bool kKnown = true, kWhole = true;  // kWhole: blocks lie at multiples of 16 bytes
  static constexpr Order kOrder = Order::kSwapped;
  static constexpr int kWords = 4, kBytes = sizeof(BlockQ4_K);  // of 256 columns
  using Scales = GroupScales;
  template <bool kAligned>
  static __device__ __forceinline__ Scales scales(const uint8_t* row, int t, int) {
    return group_scales(row, t);
  }
  template <bool kAligned>
  static __device__ __forceinline__ void load(const uint8_t* row, int h, int t, uint32_t (&raw)[kWords]) {
    read_four(row + 16 + t * 32 + h * 16, raw);
  }
  static __device__ __forceinline__ FragmentPairs pairs(const uint32_t (&raw)[kWords], int, int q, int s,
                                                        const Scales& of) {
    return nibble_pairs(raw[s], q, one_of(of.steps, q), one_of(of.minus_mins, q));
  }
};

template <>
struct Fragments<BlockQ5_K> {
  static constexpr bool kKnown = true, kWhole = true;
  static constexpr Order kOrder = Order::kSwapped;
  static constexpr int kWords = 8, kBytes = sizeof(BlockQ5_K);
  using Scales = GroupScales;
  template <bool kAligned>
  static __device__ __forceinline__ Scales scales(const uint8_t* row, int t, int) {
    return group_scales(row, t);
  }
  template <bool kAligned>
  static __device__ __forceinline__ void load(const uint8_t* row, int h, int t, uint32_t (&raw)[kWords]) {
    read_four(row + 48 + t * 32 + h * 16, raw);
    read_four(row + 16 + h * 16, raw + 4);
#pragma unroll
    for (int i = 4; i < 8; ++i) raw[i] >>= 2 * t;
  }
  static __device__ __forceinline__ FragmentPairs pairs(const uint32_t (&raw)[kWords], int, int q, int s,
                                                        const Scales& of) {
    const uint32_t all = (raw[s] >> q * 4 & 0x0f0f0f0fu) | (raw[4 + s] << (4 - q) & 0x10101010u);
    const __half2 step = one_of(of.steps, q), minus_min = one_of(of.minus_mins, q);
    return {pack_pair(__hfma2(even_bytes(all, 0), step, minus_min)),
            pack_pair(__hfma2(odd_bytes(all, 0), step, minus_min))};
  }
};

template <>
struct Fragments<BlockQ6_K> {
  static constexpr bool kKnown = true, kWhole = false;
  static constexpr Order kOrder = Order::kHalves;
  static constexpr int kWords = 8, kBytes = sizeof(BlockQ6_K);
  struct Scales {
    __half2 steps[2];  // of halves: quarter 0 and quarter 1
  };
  template <bool kAligned>
  static __device__ __forceinline__ Scales scales(const uint8_t* row, int t, int) {
    const __half2 scale = __half2half2(__ushort_as_half(static_cast<uint16_t>(read16(row + 208))));
    Scales to;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const uint8_t* two = row + 192 + h * 8 + t;
      const uint32_t both = two[0] | static_cast<uint32_t>(two[4]) << 16;
      to.steps[h] = __hmul2(minus(as_half2((both ^ 0x00800080u) | 0x64006400u), 128), scale);
    }
    return to;
  }
  template <bool kAligned>
  static __device__ __forceinline__ void load(const uint8_t* row, int h, int t, uint32_t (&raw)[kWords]) {
    read_words<4, kAligned>(row + h * 64 + t * 16, 0, raw);
    read_words<4, kAligned>(row + 128 + h * 32 + t % 2 * 16, 0, raw + 4);
#pragma unroll
    for (int i = 4; i < 8; ++i) raw[i] >>= t / 2 * 2;  // to the bits that t = 0 has
  }
  static __device__ __forceinline__ FragmentPairs pairs(const uint32_t (&raw)[kWords], int h, int q, int s,
                                                        const Scales& of) {
    const uint32_t high = q ? raw[4 + s] : raw[4 + s] << 4;
    const uint32_t all = (raw[s] >> q * 4 & 0x0f0f0f0fu) | (high & 0x30303030u);
    return linear_pairs(even_bytes(all, 32), odd_bytes(all, 32), one_of(h ? of.steps[1] : of.steps[0], q));
  }
};

// Formats of 32 weights: lane t has blocks 2t and 2t + 1.
struct BlockSteps {
  __half2 steps;  // of both
};
template <int kBlock>
__device__ __forceinline__ BlockSteps block_steps(const uint8_t* row, int t, int left) {
  const uint32_t first = 2 * t < left ? read16(row + 2 * t * kBlock) : 0;
  const uint32_t second = 2 * t + 1 < left ? read16(row + (2 * t + 1) * kBlock) : 0;
  return {as_half2(first | second << 16)};
}
struct BlockPairs {
  __half2 both[2];  // the first four bytes of each
  __device__ __forceinline__ __half2 of(int h) const { return h ? both[1] : both[0]; }
};
template <int kBlock, bool kAligned>
__device__ __forceinline__ BlockPairs block_pairs(const uint8_t* row, int t, int left) {
  BlockPairs to;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    uint32_t both = 0;
    if (2 * t + h < left) read_words<1, kAligned>(row + (2 * t + h) * kBlock, h * kBlock, &both);
    to.both[h] = as_half2(both);
  }
  return to;
}

// kHead: bytes before a block's codes, a scale or a scale and another number.
template <typename Block, int kWordsOf, int kHead>
struct SmallBlocks {
  static constexpr bool kKnown = true, kWhole = false;
  static constexpr Order kOrder = Order::kPlain;
  static constexpr int kBlock = sizeof(Block), kWords = kWordsOf, kBytes = 8 * kBlock;
  using Scales = std::conditional_t<kHead == 2, BlockSteps, BlockPairs>;
  template <bool kAligned>
  static __device__ __forceinline__ Scales scales(const uint8_t* row, int t, int left) {
    if constexpr (kHead == 2) {
      return block_steps<kBlock>(row, t, left);
    } else {
      return block_pairs<kBlock, kAligned>(row, t, left);
    }
  }
  template <bool kAligned>
  static __device__ __forceinline__ void load(const uint8_t* row, int h, int t, uint32_t (&raw)[kWords]) {
    read_words<kWords, kAligned>(row + (2 * t + h) * kBlock + kHead, h * kBlock + kHead, raw);
  }
};

template <>
struct Fragments<BlockQ8_0> : SmallBlocks<BlockQ8_0, 8, 2> {
  static __device__ __forceinline__ FragmentPairs pairs(const uint32_t (&raw)[kWords], int h, int q, int s,
                                                        const Scales& of) {
    const uint32_t word = raw[q * 4 + s] ^ 0x80808080u;
    return linear_pairs(even_bytes(word, 128), odd_bytes(word, 128), one_of(of.steps, h));
  }
};

template <>
struct Fragments<BlockQ4_0> : SmallBlocks<BlockQ4_0, 4, 2> {
  static __device__ __forceinline__ FragmentPairs pairs(const uint32_t (&raw)[kWords], int h, int q, int s,
                                                        const Scales& of) {
    const uint32_t word = raw[s] >> q * 4;
    return linear_pairs(minus(plus_1024(word, 0x000f000fu), 8), minus(plus_1024(word >> 8, 0x000f000fu), 8),
                        one_of(of.steps, h));
  }
};

template <>
struct Fragments<BlockQ4_1> : SmallBlocks<BlockQ4_1, 4, 4> {
  static __device__ __forceinline__ FragmentPairs pairs(const uint32_t (&raw)[kWords], int h, int q, int s,
                                                        const Scales& of) {
    return nibble_pairs(raw[s], q, __low2half2(of.of(h)), __high2half2(of.of(h)));
  }
};

template <>
struct Fragments<BlockGroup4> : SmallBlocks<BlockGroup4, 4, 4> {
  // scales: (scale, zero)
  static __device__ __forceinline__ FragmentPairs pairs(const uint32_t (&raw)[kWords], int h, int q, int s,
                                                        const Scales& of) {
    const __half2 step = __low2half2(of.of(h)), zero = __high2half2(of.of(h));
    const __half2 low = q ? high_nibbles(raw[s]) : low_nibbles(raw[s]);
    const __half2 high = q ? high_nibbles(raw[s] >> 8) : low_nibbles(raw[s] >> 8);
    return linear_pairs(__hsub2(low, zero), __hsub2(high, zero), step);
  }
};

}  // namespace wick::cuda
