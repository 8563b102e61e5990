#pragma once

#include "backends/cuda/quant/codes_by_256.cuh"

// Formats by 256 whose codes are entries of a codebook, of eight numbers or four, most of them with signs of their own.
namespace wick::cuda {

// A codebook in shared memory, of the kernels that make use of it.
template <typename Entry, int kCount>
struct Codebook {
  static constexpr int kCodebookBytes = kCount * static_cast<int>(sizeof(Entry));
  static __device__ __forceinline__ Entry* entries() {
    __shared__ __align__(16) Entry all[kCount];
    return all;
  }
  // By `threads` threads, before all of them meet.
  static __device__ __forceinline__ void fetch_codebook(const void* from, int thread, int threads) {
#pragma unroll 1
    for (int i = thread; i < kCodebookBytes / 16; i += threads) {
      reinterpret_cast<uint4*>(entries())[i] = static_cast<const uint4*>(from)[i];
    }
  }
};

// Four bytes from 1 to 127 with signs, those of the bits that are set: as 255 - byte + 1.
__device__ __forceinline__ uint32_t with_signs(uint32_t bytes, uint32_t four) {
  const uint32_t ones = bits_of_bytes(four);
  return (bytes ^ ones * 255) + ones;
}
__device__ __forceinline__ uint32_t byte_from(const uint8_t* from) { return *from; }
__device__ __forceinline__ uint32_t pair_from(const uint8_t* from) { return *reinterpret_cast<const uint16_t*>(from); }
// 2 n + 1 for four numbers below 128.
__device__ __forceinline__ uint32_t odd_steps(uint32_t bytes) { return bytes * 2 | 0x01010101u; }
// Nibbles of two bytes, low ones first, in bytes.
__device__ __forceinline__ uint32_t four_nibbles(uint32_t pair) {
  const uint32_t apart = (pair | pair << 8) & 0x00ff00ffu;
  return (apart | apart << 4) & 0x0f0f0f0fu;
}

// Steps by 32. Lanes have eight neighbours.
template <typename Block, typename CodebookOf>
struct CodebookBlocks : SteppedBlocks<Block, 2, Order::kEight>, CodebookOf {};

// Steps that lie in the high bits of bytes from kStepsAt on, kStepGap apart, the highest of which kMask takes off; the
// scale lies first and is that of kUnits codes.
template <typename Block, typename CodebookOf, int kStepsAt, int kStepGap, uint32_t kMask, int kUnits>
struct SpreadSteps : CodebookBlocks<Block, CodebookOf> {
  static constexpr float kUnit = 1.0f / kUnits;
  static __device__ __forceinline__ uint32_t step(const uint8_t* row, int group) {
    return byte_from(row + kStepsAt + group * kStepGap) >> 4 & kMask;
  }
  template <bool kAligned>
  static __device__ __forceinline__ GroupSteps scales(const uint8_t* row, int) {
    GroupSteps to;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      to.steps[i] =
          odd_steps(pack_bytes(step(row, 4 * i), step(row, 4 * i + 1), step(row, 4 * i + 2), step(row, 4 * i + 3)));
    }
    to.scale = read_half(row) * kUnit;
    return to;
  }
  static __device__ __forceinline__ LaneScales scales_of_lane(const uint8_t* row, int t) {
    return {odd_steps(step(row, 2 * t) | step(row, 2 * t + 1) << 8), pair_from(row)};
  }
};

// Of each group a word of four indices, then one of four times seven signs and the step; the eighth sign makes their
// number even.
template <>
struct Codes<BlockIQ2_XXS> : SpreadSteps<BlockIQ2_XXS, Codebook<uint64_t, 256>, 2 + 7, 8, 15, 8> {
  template <bool kAligned>
  static __device__ __forceinline__ void load(const uint8_t* row, int j, int t, uint32_t (&raw)[kWords]) {
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      const uint8_t* group = row + 2 + (2 * j + u) * 8;
      uint32_t signs = 0;
      read_words<1, false>(group + 4, 0, &signs);
      raw[u] = byte_from(group + t) | eight_signs(signs >> 7 * t & 127) << 8;
    }
  }
  static __device__ __forceinline__ uint2 codes(const uint32_t (&raw)[kWords], int, int u, const Scales&) {
    const uint2 eight = reinterpret_cast<const uint2*>(entries())[raw[u] & 255];
    return {with_signs(eight.x, raw[u] >> 8), with_signs(eight.y, raw[u] >> 12)};
  }
};

// Of each group eight indices of four numbers; behind those of all groups words as above.
template <>
struct Codes<BlockIQ3_XXS> : SpreadSteps<BlockIQ3_XXS, Codebook<uint32_t, 256>, 66 + 3, 4, 15, 4> {
  template <bool kAligned>
  static __device__ __forceinline__ void load(const uint8_t* row, int j, int t, uint32_t (&raw)[kWords]) {
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      const int group = 2 * j + u;
      uint32_t signs = 0;
      read_words<1, false>(row + 66 + group * 4, 0, &signs);
      raw[u] = pair_from(row + 2 + group * 8 + t * 2) | eight_signs(signs >> 7 * t & 127) << 16;
    }
  }
  static __device__ __forceinline__ uint2 codes(const uint32_t (&raw)[kWords], int, int u, const Scales&) {
    return {with_signs(entries()[raw[u] & 255], raw[u] >> 16), with_signs(entries()[raw[u] >> 8 & 255], raw[u] >> 20)};
  }
};

// The same with nine bits for an index, eight for signs, and nibbles of steps behind all.
template <>
struct Codes<BlockIQ3_S> : CodebookBlocks<BlockIQ3_S, Codebook<uint32_t, 512>> {
  static constexpr float kUnit = 1;
  template <bool kAligned>
  static __device__ __forceinline__ Scales scales(const uint8_t* row, int) {
    Scales to;
#pragma unroll
    for (int i = 0; i < 2; ++i) to.steps[i] = odd_steps(four_nibbles(pair_from(row + 106 + 2 * i)));
    to.scale = read_half(row);
    return to;
  }
  static __device__ __forceinline__ LaneScales scales_of_lane(const uint8_t* row, int t) {
    return {odd_steps(four_nibbles(byte_from(row + 106 + t))), pair_from(row)};
  }
  template <bool kAligned>
  static __device__ __forceinline__ void load(const uint8_t* row, int j, int t, uint32_t (&raw)[kWords]) {
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      const int group = 2 * j + u;
      const uint32_t low = pair_from(row + 2 + group * 8 + t * 2), high = byte_from(row + 66 + group) >> 2 * t;
      const uint32_t first = (low & 255) | (high & 1) << 8, second = low >> 8 | (high & 2) << 7;
      raw[u] = first | second << 9 | byte_from(row + 74 + group * 4 + t) << 18;
    }
  }
  static __device__ __forceinline__ uint2 codes(const uint32_t (&raw)[kWords], int, int u, const Scales&) {
    return {with_signs(entries()[raw[u] & 511], raw[u] >> 18), with_signs(entries()[raw[u] >> 9 & 511], raw[u] >> 22)};
  }
};

// Entries of IQ1 are 8 (n - 1), and less or more one, with two bits for each n.
using PairCodebook = Codebook<uint16_t, 2048>;
__device__ __forceinline__ uint32_t four_of_pairs(uint32_t pairs, bool less) {
  const uint32_t nibbles = (pairs | pairs << 12) & 0x000f000fu;
  return bytes_less(((nibbles | nibbles << 6) & 0x03030303u) << 3, less ? 9 : 7);
}

// Of each group four indices, and of all behind them words of three high bits for each, a step and the sign of the one.
template <>
struct Codes<BlockIQ1_S> : SpreadSteps<BlockIQ1_S, PairCodebook, 34 + 1, 2, 7, 8> {
  static_assert(kUnit == kIq1Shift);
  template <bool kAligned>
  static __device__ __forceinline__ void load(const uint8_t* row, int j, int t, uint32_t (&raw)[kWords]) {
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      const int group = 2 * j + u;
      const uint32_t high = pair_from(row + 34 + group * 2);
      raw[u] = byte_from(row + 2 + group * 4 + t) | (high >> 3 * t & 7) << 8 | (high >> 15) << 11;
    }
  }
  static __device__ __forceinline__ uint2 codes(const uint32_t (&raw)[kWords], int, int u, const Scales&) {
    const uint32_t eight = entries()[raw[u] & 2047];
    const bool less = raw[u] >> 11 != 0;
    return {four_of_pairs(eight & 255, less), four_of_pairs(eight >> 8, less)};
  }
};

// Steps by 16. Lanes have four neighbours of either half of a group, half h of the entry of a run r of eight.
template <typename Block, typename CodebookOf>
struct HalfCodebookBlocks : HalvedBlocks<Block, 2, 0>, CodebookOf {
  static constexpr bool kSigned = true, kUsesSums = false;
  using CodebookOf::fetch_codebook, CodebookOf::kCodebookBytes;
  // Words of two halves of a group, which have of(run, half).
  template <typename Of>
  static __device__ __forceinline__ void load_runs(int j, int t, uint32_t (&raw)[2], const Of& of) {
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      const int run = (2 * j + u) * 4 + t / 2;
      raw[u] = of(run, t % 2) | of(run + 2, t % 2) << 16;
    }
  }
};

// Codes that have the place of four numbers in the low bits and their signs in the highest four.
template <typename Block, int kEntries>
struct SignedRuns : HalfCodebookBlocks<Block, Codebook<uint64_t, kEntries>> {
  using Base = HalfCodebookBlocks<Block, Codebook<uint64_t, kEntries>>;
  using Scales = typename Base::Scales;
  static constexpr float kUnit = 0.125f;
  static __device__ __forceinline__ uint32_t run(uint32_t index, uint32_t signs, int half) {
    return index * 2 + static_cast<uint32_t>(half) | (signs >> 4 * half & 15) << 12;
  }
  static __device__ __forceinline__ uint2 codes(const uint32_t (&raw)[2], int, int u, const Scales&) {
    const auto* fours = reinterpret_cast<const uint32_t*>(Base::entries());
    return {with_signs(fours[raw[u] & 0xfff], raw[u] >> 12), with_signs(fours[raw[u] >> 16 & 0xfff], raw[u] >> 28)};
  }
  static __device__ __forceinline__ Scales scales_at(const uint8_t* row, int steps_at) {
    Scales to;
#pragma unroll
    for (int i = 0; i < 4; ++i) to.steps[i] = odd_steps(four_nibbles(pair_from(row + steps_at + 2 * i)));
    to.scale = read_half(row) * kUnit;
    return to;
  }
  static __device__ __forceinline__ LaneScales lane_scales_at(const uint8_t* row, int steps_at, int t) {
    return {odd_steps(four_nibbles(pair_from(row + steps_at + 2 * t))), pair_from(row)};
  }
};

// Nine bits of index and seven signs for a run.
template <>
struct Codes<BlockIQ2_XS> : SignedRuns<BlockIQ2_XS, 512> {
  template <bool kAligned>
  static __device__ __forceinline__ Scales scales(const uint8_t* row, int) {
    return scales_at(row, 66);
  }
  static __device__ __forceinline__ LaneScales scales_of_lane(const uint8_t* row, int t) {
    return lane_scales_at(row, 66, t);
  }
  template <bool kAligned>
  static __device__ __forceinline__ void load(const uint8_t* row, int j, int t, uint32_t (&raw)[2]) {
    load_runs(j, t, raw, [&](int at, int half) {
      const uint32_t both = pair_from(row + 2 + at * 2);
      return run(both & 511, eight_signs(both >> 9), half);
    });
  }
};

// Ten bits of index, of which a byte for each group has the highest of its runs, and eight signs.
template <>
struct Codes<BlockIQ2_S> : SignedRuns<BlockIQ2_S, 1024> {
  template <bool kAligned>
  static __device__ __forceinline__ Scales scales(const uint8_t* row, int) {
    return scales_at(row, 74);
  }
  static __device__ __forceinline__ LaneScales scales_of_lane(const uint8_t* row, int t) {
    return lane_scales_at(row, 74, t);
  }
  template <bool kAligned>
  static __device__ __forceinline__ void load(const uint8_t* row, int j, int t, uint32_t (&raw)[2]) {
    load_runs(j, t, raw, [&](int at, int half) {
      const uint32_t high = byte_from(row + 66 + at / 4) >> at % 4 * 2 & 3;
      return run(byte_from(row + 2 + at) | high << 8, byte_from(row + 34 + at), half);
    });
  }
};

// Indices, nibbles of three high bits and the sign of the one, then four words of four steps each and a nibble of the
// scale.
template <>
struct Codes<BlockIQ1_M> : HalfCodebookBlocks<BlockIQ1_M, PairCodebook> {
  static constexpr float kUnit = kIq1Shift;
  static __device__ __forceinline__ uint32_t four_steps(uint32_t word) {
    const uint32_t apart = (word & 63) | (word & 0xfc0) << 10;
    return odd_steps((apart | apart << 5) & 0x07070707u);
  }
  static __device__ __forceinline__ uint32_t scale_bits(const uint32_t (&words)[2]) {
    return (words[0] >> 12 & 15) | (words[0] >> 28) << 4 | (words[1] >> 12 & 15) << 8 | (words[1] >> 28) << 12;
  }
  template <bool kAligned>
  static __device__ __forceinline__ Scales scales(const uint8_t* row, int) {
    uint32_t words[2];
    read_words<2, false>(row + 48, 0, words);
    Scales to;
#pragma unroll
    for (int i = 0; i < 4; ++i) to.steps[i] = four_steps(words[i / 2] >> i % 2 * 16);
    to.scale = half_bits(static_cast<uint16_t>(scale_bits(words))) * kUnit;
    return to;
  }
  static __device__ __forceinline__ LaneScales scales_of_lane(const uint8_t* row, int t) {
    uint32_t words[2];
    read_words<2, false>(row + 48, 0, words);
    return {four_steps((t < 2 ? words[0] : words[1]) >> t % 2 * 16), scale_bits(words)};
  }
  template <bool kAligned>
  static __device__ __forceinline__ void load(const uint8_t* row, int j, int t, uint32_t (&raw)[2]) {
    load_runs(j, t, raw, [&](int at, int half) {
      const uint32_t high = byte_from(row + 32 + at / 2) >> at % 2 * 4;
      return (byte_from(row + at) | (high & 7) << 8) * 2 + static_cast<uint32_t>(half) | (high & 8) << 9;
    });
  }
  static __device__ __forceinline__ uint2 codes(const uint32_t (&raw)[2], int, int u, const Scales&) {
    const auto* fours = reinterpret_cast<const uint8_t*>(entries());
    const auto code = [&](uint32_t at) { return four_of_pairs(fours[at & 0xfff], (at & 0x1000) != 0); };
    return {code(raw[u]), code(raw[u] >> 16)};
  }
};

}  // namespace wick::cuda
