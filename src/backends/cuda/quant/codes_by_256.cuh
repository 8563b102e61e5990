#pragma once

#include "backends/cuda/quant/packed_codes.cuh"

// Formats with one scale for each 256 columns and small whole numbers for their groups.
namespace wick::cuda {

// What a lane needs of a block of a format by 256 if it has the results of groups 2t and 2t + 1 only: four small
// numbers, the block's scales in f16, and where the groups' halves have minima those.
struct LaneScales {
  uint32_t bytes, scales, half_mins = 0;
};

// Scales and minima of the groups of Q4_K and Q5_K, from a block's first 16 bytes; see group_scale.
struct GroupScales {
  static constexpr int kSteps = 1;  // of a group
  uint32_t steps[2], mins[2];       // four groups each
  float scale, min_scale;
  __device__ __forceinline__ int step(int group) const { return byte_at(group < 4 ? steps[0] : steps[1], group % 4); }
  __device__ __forceinline__ int min(int group) const { return byte_at(group < 4 ? mins[0] : mins[1], group % 4); }
  // What the sums of activations are multiplied with, four of lane t.
  __device__ __forceinline__ uint32_t of_sums(int t) const { return t == 0 ? mins[0] : t == 1 ? mins[1] : 0; }
};
__device__ __forceinline__ GroupScales group_scales(const uint8_t* block) {
  const uint4 head = *reinterpret_cast<const uint4*>(block);
  GroupScales to;
  to.steps[0] = head.y & 0x3f3f3f3fu;
  to.steps[1] = (head.w & 0x0f0f0f0fu) | (head.y >> 2 & 0x30303030u);
  to.mins[0] = head.z & 0x3f3f3f3fu;
  to.mins[1] = (head.w >> 4 & 0x0f0f0f0fu) | (head.z >> 2 & 0x30303030u);
  to.scale = half_bits(static_cast<uint16_t>(head.x));
  to.min_scale = half_bits(static_cast<uint16_t>(head.x >> 16));
  return to;
}

// What lane t has of them: steps of groups 2t and 2t + 1 and their minima, in four bytes.
__device__ __forceinline__ LaneScales lane_scales(const uint8_t* block, int t) {
  const uint4 head = *reinterpret_cast<const uint4*>(block);
  const bool later = t >= 2;
  const uint32_t pair = t % 2 ? 0x2222 : 0;  // its two bytes of a word
  const uint32_t early = __byte_perm(head.y, head.z, 0x5410 + pair) >> (later ? 2 : 0);
  const uint32_t late = __byte_perm(head.w, head.w >> 4, 0x5410 + pair), from_late = later ? 0x0f0f0f0fu : 0;
  return {((late & from_late) | (early & ~from_late)) & 0x3f3f3f3fu, head.x};
}

// Q4_K and Q5_K.
template <typename Block, int kWordsOf>
struct GroupedBlocks : NoCodebook {
  static constexpr bool kKnown = true, kWhole = true, kBy32 = false, kSigned = false, kUsesSums = true;
  static constexpr float kUnit = 1;
  static constexpr int kSums = 8, kOffset = 0;
  static constexpr bool kPairs =
      std::is_same_v<Block, BlockQ4_K>;  // words have group 2j in low nibbles, 2j + 1 in high
  static constexpr Order kOrder = Order::kEight;
  static constexpr int kWords = kWordsOf, kBytes = sizeof(Block);  // of a super-block
  using Scales = GroupScales;
  template <bool kAligned>
  static __device__ __forceinline__ Scales scales(const uint8_t* row, int) {
    return group_scales(row);
  }
  static __device__ __forceinline__ LaneScales scales_of_lane(const uint8_t* row, int t) { return lane_scales(row, t); }
};

template <>
struct Codes<BlockQ4_K> : GroupedBlocks<BlockQ4_K, 2> {
  template <bool kAligned>
  static __device__ __forceinline__ void load(const uint8_t* row, int j, int t, uint32_t (&raw)[kWords]) {
    read_two(row + 16 + j * 32 + t * 8, raw);
  }
  static __device__ __forceinline__ uint2 codes(const uint32_t (&raw)[kWords], int, int u, const Scales&) {
    return {nibbles(raw[0], u), nibbles(raw[1], u)};
  }
  // Groups 2j and 2j + 1 in the order kFour: word w of lane t.
  static __device__ __forceinline__ uint32_t pair_word(const uint8_t* row, int j, int t, int w) {
    return *reinterpret_cast<const uint32_t*>(row + 16 + j * 32 + w * 16 + t * 4);
  }
};

template <>
struct Codes<BlockQ5_K> : GroupedBlocks<BlockQ5_K, 4> {
  template <bool kAligned>
  static __device__ __forceinline__ void load(const uint8_t* row, int j, int t, uint32_t (&raw)[kWords]) {
    read_two(row + 48 + j * 32 + t * 8, raw);
    read_two(row + 16 + t * 8, raw + 2);
  }
  static __device__ __forceinline__ uint2 codes(const uint32_t (&raw)[kWords], int j, int u, const Scales&) {
    const int bit = 2 * j + u;
    const auto high = [&](uint32_t word) { return (bit < 4 ? word << (4 - bit) : word >> (bit - 4)) & 0x10101010u; };
    return {nibbles(raw[0], u) | high(raw[2]), nibbles(raw[1], u) | high(raw[3])};
  }
};

// Lane t's words of a block at an even place, whatever lies behind it: at(bytes) is that from there on.
class EvenWords {
 public:
  __device__ __forceinline__ EvenWords(const uint8_t* block, int t) {
    const auto odd = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(block)) & 2;
    words_ = reinterpret_cast<const uint32_t*>(block - odd) + t;
    choice_ = 0x3210 + odd * 0x1111;
  }
  __device__ __forceinline__ uint32_t at(int bytes) const {
    return __byte_perm(words_[bytes / 4], words_[bytes / 4 + 1], choice_);
  }

 private:
  const uint32_t* words_;
  uint32_t choice_;
};

// Two steps for a group, with a sign.
template <typename Block, int kWordsOf, int kOffsetOf>
struct HalvedBlocks : NoCodebook {
  static constexpr bool kKnown = true, kWhole = false, kBy32 = false, kSigned = false, kUsesSums = true;
  static constexpr float kUnit = 1;
  static constexpr int kSums = 16, kOffset = kOffsetOf;
  static constexpr bool kPairs = false;
  static constexpr Order kOrder = Order::kFour;
  static constexpr int kWords = kWordsOf, kBytes = sizeof(Block);
  struct Scales {
    static constexpr int kSteps = 2;
    static constexpr float min_scale = 0;
    uint32_t steps[4];
    float scale;
    __device__ __forceinline__ int step(int half_group) const {
      return signed_byte_at(of_sums(half_group / 4), half_group % 4);
    }
    // What the sums of activations are multiplied with, four of lane t.
    __device__ __forceinline__ uint32_t of_sums(int t) const {
      return t < 2 ? (t == 0 ? steps[0] : steps[1]) : (t == 2 ? steps[2] : steps[3]);
    }
  };
};

template <>
struct Codes<BlockQ6_K> : HalvedBlocks<BlockQ6_K, 6, 32> {
  template <bool kAligned>
  static __device__ __forceinline__ Scales scales(const uint8_t* row, int) {
    Scales to;
    read_words<4, kAligned>(row + 192, 0, to.steps);
    to.scale = read_half(row + 208);
    return to;
  }
  // The steps of the halves of groups 2t and 2t + 1.
  static __device__ __forceinline__ LaneScales scales_of_lane(const uint8_t* row, int t) {
    LaneScales to;
    read_words<1, false>(row + 192 + t * 4, 0, &to.bytes);
    to.scales = *reinterpret_cast<const uint16_t*>(row + 208);
    return to;
  }
  // Of each 128 columns: the low bits of four groups in 64 bytes, nibble p of which are groups 2p and 2p + 1, and the
  // high bits in 32. Blocks lie at even places.
  template <bool kAligned>
  static __device__ __forceinline__ void load(const uint8_t* row, int j, int t, uint32_t (&raw)[kWords]) {
    const EvenWords words(row, t);
#pragma unroll
    for (int i = 0; i < 4; ++i) raw[i] = words.at(j / 2 * 64 + i * 16);
#pragma unroll
    for (int i = 0; i < 2; ++i) raw[4 + i] = words.at(128 + j / 2 * 32 + i * 16);
  }
  static __device__ __forceinline__ uint2 codes(const uint32_t (&raw)[kWords], int j, int u, const Scales&) {
    const int p = j % 2, bit = p * 4 + u * 2;
    const auto code = [&](int i) {
      const uint32_t high = bit < 4 ? raw[4 + i] << (4 - bit) : raw[4 + i] >> (bit - 4);
      return nibbles(raw[u * 2 + i], p) | (high & 0x30303030u);
    };
    return {code(0), code(1)};
  }
};

template <>
struct Codes<BlockQ3_K> : HalvedBlocks<BlockQ3_K, 4, 4> {
  // Steps 4i to 4i + 3: their low nibbles are those of word i % 2, their high bits pairs i of the last word.
  static __device__ __forceinline__ uint32_t steps(uint32_t nibble_word, uint32_t high_word, int i) {
    return bytes_less(nibbles(nibble_word, i / 2) | (high_word >> 2 * i & 0x03030303u) << 4, 32);
  }
  template <bool kAligned>
  static __device__ __forceinline__ Scales scales(const uint8_t* row, int) {
    Scales to;
    uint32_t words[3];
    read_words<3, false>(row + 96, 0, words);
#pragma unroll
    for (int i = 0; i < 4; ++i) to.steps[i] = steps(words[i % 2], words[2], i);
    to.scale = read_half(row + 108);
    return to;
  }
  static __device__ __forceinline__ LaneScales scales_of_lane(const uint8_t* row, int t) {
    uint32_t low = 0, high = 0;
    read_words<1, false>(row + 96 + t % 2 * 4, 0, &low);
    read_words<1, false>(row + 104, 0, &high);
    return {steps(low, high, t), *reinterpret_cast<const uint16_t*>(row + 108)};
  }
  // High bits of all groups in 32 bytes, bit g is group g's; of each 128 columns the low pairs of four groups in 32.
  template <bool kAligned>
  static __device__ __forceinline__ void load(const uint8_t* row, int j, int t, uint32_t (&raw)[kWords]) {
    const EvenWords words(row, t);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      raw[i] = words.at(32 + j / 2 * 32 + i * 16);
      raw[2 + i] = words.at(i * 16);
    }
  }
  static __device__ __forceinline__ uint2 codes(const uint32_t (&raw)[kWords], int j, int u, const Scales&) {
    const int group = 2 * j + u;
    const auto code = [&](int i) {
      return (raw[i] >> group % 4 * 2 & 0x03030303u) | (raw[2 + i] >> group & 0x01010101u) << 2;
    };
    return {code(0), code(1)};
  }
};

// One step for a group: that of both halves. Codes are entries of a table and have a sign.
template <>
struct Codes<BlockIQ4_XS> : HalvedBlocks<BlockIQ4_XS, 2, 0> {
  static constexpr bool kSigned = true, kUsesSums = false;
  // Of groups 2i and 2i + 1: byte i has their nibbles, bits from 4i on their high pairs.
  static __device__ __forceinline__ uint32_t steps(uint32_t nibble_word, uint32_t high_pairs, int i) {
    const uint32_t both = nibble_word >> i * 8, high = high_pairs >> i * 4;
    const uint32_t first = (both & 15) | (high & 3) << 4, second = (both >> 4 & 15) | (high & 12) << 2;
    return bytes_less((first | second << 16) * 0x0101u, 32);
  }
  template <bool kAligned>
  static __device__ __forceinline__ Scales scales(const uint8_t* row, int) {
    Scales to;
    uint32_t words[2];
    read_words<2, kAligned>(row, 0, words);
#pragma unroll
    for (int i = 0; i < 4; ++i) to.steps[i] = steps(words[1], words[0] >> 16, i);
    to.scale = half_bits(static_cast<uint16_t>(words[0]));
    return to;
  }
  static __device__ __forceinline__ LaneScales scales_of_lane(const uint8_t* row, int t) {
    uint32_t words[2];
    read_words<2, false>(row, 0, words);
    return {steps(words[1], words[0] >> 16, t), words[0] & 0xffffu};
  }
  template <bool kAligned>
  static __device__ __forceinline__ void load(const uint8_t* row, int j, int t, uint32_t (&raw)[kWords]) {
    const EvenWords words(row, t);
#pragma unroll
    for (int u = 0; u < 2; ++u) raw[u] = words.at(8 + (2 * j + u) * 16);
  }
  static __device__ __forceinline__ uint2 codes(const uint32_t (&raw)[kWords], int, int u, const Scales&) {
    return look_up<kIq4Values>(raw[u]);
  }
};

// Pairs of bits, of each 128 columns those of four groups in 32 bytes: words i of lane t, and group 2j + u of a word.
__device__ __forceinline__ void load_pairs(const EvenWords& words, int at, int j, uint32_t (&raw)[2]) {
#pragma unroll
  for (int i = 0; i < 2; ++i) raw[i] = words.at(at + j / 2 * 32 + i * 16);
}
__device__ __forceinline__ uint32_t pairs_of(uint32_t word, int j, int u) {
  return word >> (2 * j + u) % 4 * 2 & 0x03030303u;
}

// Nibbles of steps and of minima.
template <>
struct Codes<BlockQ2_K> : HalvedBlocks<BlockQ2_K, 2, 0> {
  struct Scales : HalvedBlocks<BlockQ2_K, 2, 0>::Scales {
    uint32_t mins[4];
    float min_scale;
    __device__ __forceinline__ uint32_t of_sums(int t) const {
      return t < 2 ? (t == 0 ? mins[0] : mins[1]) : (t == 2 ? mins[2] : mins[3]);
    }
    __device__ __forceinline__ int min(int half_group) const {
      return byte_at(of_sums(half_group / 4), half_group % 4);
    }
  };
  template <bool kAligned>
  static __device__ __forceinline__ Scales scales(const uint8_t* row, int) {
    Scales to;
    uint32_t words[4];
    read_words<4, false>(row, 0, words);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      to.steps[i] = nibbles(words[i], 0);
      to.mins[i] = nibbles(words[i], 1);
    }
    to.scale = read_half(row + 80);
    to.min_scale = read_half(row + 82);
    return to;
  }
  static __device__ __forceinline__ LaneScales scales_of_lane(const uint8_t* row, int t) {
    uint32_t both = 0, scales = 0;
    read_words<1, false>(row + t * 4, 0, &both);
    read_words<1, false>(row + 80, 0, &scales);
    return {nibbles(both, 0), scales, nibbles(both, 1)};
  }
  template <bool kAligned>
  static __device__ __forceinline__ void load(const uint8_t* row, int j, int t, uint32_t (&raw)[kWords]) {
    load_pairs(EvenWords(row, t), 16, j, raw);
  }
  static __device__ __forceinline__ uint2 codes(const uint32_t (&raw)[kWords], int j, int u, const Scales&) {
    return {pairs_of(raw[0], j, u), pairs_of(raw[1], j, u)};
  }
};

// One step for a group and no minima; codes have a sign.
struct GroupSteps {
  static constexpr int kSteps = 1;
  static constexpr float min_scale = 0;
  uint32_t steps[2];
  float scale;
  __device__ __forceinline__ int step(int group) const { return byte_at(group < 4 ? steps[0] : steps[1], group % 4); }
};
template <typename Block, int kWordsOf, Order kOrderOf>
struct SteppedBlocks {
  static constexpr bool kKnown = true, kWhole = false, kBy32 = false, kSigned = true, kUsesSums = false;
  static constexpr int kSums = 16, kOffset = 0;
  static constexpr bool kPairs = false;
  static constexpr Order kOrder = kOrderOf;
  static constexpr int kWords = kWordsOf, kBytes = sizeof(Block);
  using Scales = GroupSteps;
};

// Numbers from -1 to 1: one scale for all.
template <typename Block, int kWordsOf, int kScaleAt>
struct TernaryBlocks : SteppedBlocks<Block, kWordsOf, Order::kFour>, NoCodebook {
  static constexpr float kUnit = 1;
  template <bool kAligned>
  static __device__ __forceinline__ GroupSteps scales(const uint8_t* row, int) {
    return {{0x01010101u, 0x01010101u}, read_half(row + kScaleAt)};
  }
  static __device__ __forceinline__ LaneScales scales_of_lane(const uint8_t* row, int) {
    return {0x01010101u, *reinterpret_cast<const uint16_t*>(row + kScaleAt)};
  }
};

template <>
struct Codes<BlockTQ2_0> : TernaryBlocks<BlockTQ2_0, 2, 64> {
  template <bool kAligned>
  static __device__ __forceinline__ void load(const uint8_t* row, int j, int t, uint32_t (&raw)[kWords]) {
    load_pairs(EvenWords(row, t), 0, j, raw);
  }
  static __device__ __forceinline__ uint2 codes(const uint32_t (&raw)[kWords], int j, int u, const Scales&) {
    return {bytes_less(pairs_of(raw[0], j, u), 1), bytes_less(pairs_of(raw[1], j, u), 1)};
  }
};

// Bytes of five digits to the base of 3, the first one highest: 32 bytes with groups 0 to 4, 16 with the following
// halves of groups, and four for the last 16 columns, of which each has four digits.
template <>
struct Codes<BlockTQ1_0> : TernaryBlocks<BlockTQ1_0, 4, 52> {
  // Bytes whose first digit is the digit number n of these.
  static __device__ __forceinline__ uint32_t from_digit(uint32_t bytes, int n) {
    const uint32_t power = n < 2 ? (n == 0 ? 1 : 3) : n == 2 ? 9 : n == 3 ? 27 : 81;
    const uint32_t even = (bytes & 0x00ff00ffu) * power, odd = (bytes >> 8 & 0x00ff00ffu) * power;
    return (even & 0x00ff00ffu) | (odd & 0x00ff00ffu) << 8;
  }
  template <bool kAligned>
  static __device__ __forceinline__ void load(const uint8_t* row, int j, int t, uint32_t (&raw)[kWords]) {
    const EvenWords words(row, t);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int group = 2 * j + i / 2, half = i % 2;
      if (group < 5) {
        raw[i] = from_digit(words.at(half * 16), group);
      } else if (group < 7 || half == 0) {
        raw[i] = from_digit(words.at(32), (group - 5) * 2 + half);
      } else {
        uint32_t last = 0;
        read_words<1, false>(row + 48, 0, &last);
        raw[i] = from_digit(last, t);
      }
    }
  }
  static __device__ __forceinline__ uint32_t first_digits(uint32_t bytes) {
    const uint32_t even = (bytes & 0x00ff00ffu) * 3 >> 8, odd = (bytes >> 8 & 0x00ff00ffu) * 3;
    return bytes_less((even & 0x00030003u) | (odd & 0x03000300u), 1);
  }
  static __device__ __forceinline__ uint2 codes(const uint32_t (&raw)[kWords], int, int u, const Scales&) {
    return {first_digits(raw[2 * u]), first_digits(raw[2 * u + 1])};
  }
};

}  // namespace wick::cuda
