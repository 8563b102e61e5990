#pragma once

#include "backends/cuda/mma.cuh"
#include "backends/cuda/packed_weight.cuh"

// Codes of packed rows as the tensor cores want them: in 8 bits, 8 of each 32 columns in two words of lane t.
//
// A super of 256 columns has 8 groups of 32. A format gives
//   load<kAligned>(row, j, t, raw)  lane t's words of groups 2j and 2j + 1
//   codes(raw, j, u, scales)        its 8 codes of group 2j + u
//   scales<kAligned>(row, left)     what a row's codes are multiplied with; `left` groups of it are there
// kAligned: the row's blocks lie at a multiple of 16 bytes. Where kWhole says so they always do.
// Of formats by 32 each group has scales of its own in f16, and so have the activations; those by 256 have whole
// numbers for the groups and, like the activations, one scale for all. kSums: of how many sums of activations' codes in
// a super the format makes use, because codes count from a minimum of their group on, or from kOffset.
namespace wick::cuda {

inline constexpr int kSuper = 256;  // rows are filled up with zeros to a multiple of it
inline constexpr int kSuperGroups = kSuper / 32;
__host__ __device__ inline int64_t packed_columns(int64_t k) { return (k + kSuper - 1) / kSuper * kSuper; }

// The columns of a group that lane t has.
enum class Order {
  kEight,   // 8t to 8t + 7
  kFour,    // 4t to 4t + 3 and 16 + 4t to 16 + 4t + 3: the first words of all lanes are the first 16 columns
  kPlain,   // all in order, for kernels that do not give them to lanes
  kHalves,  // the same in f16
};

// The first of the four columns of group 2j + u that word `w` of lane t has.
__host__ __device__ __forceinline__ int column_of_word(Order order, int j, int u, int t, int w) {
  return j * 64 + u * 32 + (order == Order::kEight ? t * 8 + w * 4 : w * 16 + t * 4);
}
// Where the four columns from `column` on lie in a super of activations: lane t has 16 bytes for each two groups.
__host__ __device__ __forceinline__ int place_of_columns(Order order, int column) {
  if (order == Order::kPlain) return column;
  if (order == Order::kHalves) return column * 2;
  const int pair = column / 64 * 64, group = column / 32 % 2 * 8, in = column % 32;
  return order == Order::kEight ? pair + group + in / 8 * 16 + in / 4 % 2 * 4
                                : pair + group + in / 4 % 4 * 16 + in / 16 * 4;
}

template <typename Block>
struct Codes {
  static constexpr bool kKnown = false;
};

// kCount words at an even place; kAligned: `at` bytes behind a multiple of 4. Words behind them are not read.
template <int kCount, bool kAligned>
__device__ __forceinline__ void read_words(const uint8_t* from, int at, uint32_t* to) {
  const auto place = kAligned ? static_cast<uint32_t>(at) : static_cast<uint32_t>(reinterpret_cast<uintptr_t>(from));
  const uint32_t odd = place & 2;
  const auto* words = reinterpret_cast<const uint32_t*>(from - odd);
  const uint32_t choice = odd ? 0x5432 : 0x3210;
  uint32_t before = words[0];
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const uint32_t next = i + 1 < kCount || odd ? words[i + 1] : 0;
    to[i] = __byte_perm(before, next, choice);
    before = next;
  }
}
// One at any place.
__device__ __forceinline__ uint32_t read_word(const uint8_t* from) {
  const uint32_t behind = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(from)) & 3;
  const auto* words = reinterpret_cast<const uint32_t*>(from - behind);
  return __byte_perm(words[0], behind ? words[1] : 0, 0x3210 + behind * 0x1111);
}
__device__ __forceinline__ void read_two(const uint8_t* from, uint32_t* to) {
  const uint2 two = *reinterpret_cast<const uint2*>(from);
  to[0] = two.x;
  to[1] = two.y;
}
__device__ __forceinline__ float read_half(const uint8_t* from) {
  return half_bits(*reinterpret_cast<const uint16_t*>(from));
}
__device__ __forceinline__ uint32_t nibbles(uint32_t word, int high) { return word >> high * 4 & 0x0f0f0f0fu; }
// Bytes below 128, each less the same number of at most 128.
__device__ __forceinline__ uint32_t bytes_less(uint32_t bytes, uint32_t number) {
  return ((bytes | 0x80808080u) - number * 0x01010101u) ^ 0x80808080u;
}
__device__ __forceinline__ int byte_at(uint32_t word, int i) {
  return static_cast<int>(__byte_perm(word, 0, 0x4440u | static_cast<uint32_t>(i)));
}
__device__ __forceinline__ int signed_byte_at(uint32_t word, int i) {  // 8: copies of a byte's sign
  int number = 0;
  asm("prmt.b32 %0, %1, 0, %2;" : "=r"(number) : "r"(word), "r"(static_cast<uint32_t>(i) * 0x1111u | 0x8880u));
  return number;
}

// Bytes of a table at the low nibbles of a word, then at the high ones.
template <const int8_t (&kTable)[16]>
__device__ __forceinline__ uint2 look_up(uint32_t word) {
  constexpr uint32_t kTables[4] = {table_word<uint32_t, kTable>(0), table_word<uint32_t, kTable>(4),
                                   table_word<uint32_t, kTable>(8), table_word<uint32_t, kTable>(12)};
  const uint32_t which = word & 0x77777777u;  // within each half of the table: nibbles of two bytes, then of the others
  uint32_t first[2], second[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    first[half] = __byte_perm(kTables[2 * half], kTables[2 * half + 1], which);
    second[half] = __byte_perm(kTables[2 * half], kTables[2 * half + 1], which >> 16);
  }
  const auto choose = [&](uint32_t bytes, uint32_t choice) {  // the half by the highest bit of each byte
    uint32_t later = 0;
    asm("prmt.b32 %0, %1, 0, 0xba98;" : "=r"(later) : "r"(bytes));
    return (__byte_perm(first[1], second[1], choice) & later) | (__byte_perm(first[0], second[0], choice) & ~later);
  };
  return {choose(word << 4, 0x6420), choose(word, 0x7531)};
}

// Four bytes with a sign as f16: as bits, 1024 and a byte more are 0x6400 and the byte.
__device__ __forceinline__ uint2 halves_of(uint32_t bytes) {
  const uint32_t above = bytes ^ 0x80808080u;
  const auto pair = [&](uint32_t choice) {
    const uint32_t bits = __byte_perm(above, 0x64646464u, choice);
    return pack_pair(__hsub2(*reinterpret_cast<const __half2*>(&bits), __float2half2_rn(1024 + 128)));
  };
  return {pair(0x4140), pair(0x4342)};
}

// What a lane needs of a block of a format by 256 if it has the results of groups 2t and 2t + 1 only: four small
// numbers, and the block's scales in f16.
struct LaneScales {
  uint32_t bytes, scales;
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
struct GroupedBlocks {
  static constexpr bool kKnown = true, kWhole = true, kBy32 = false, kSigned = false;
  static constexpr int kSums = 8, kOffset = 0;
  static constexpr bool kPairs =
      std::is_same_v<Block, BlockQ4_K>;  // words have group 2j in low nibbles, 2j + 1 in high
  static constexpr Order kOrder = Order::kEight;
  static constexpr int kWords = kWordsOf, kBytes = sizeof(Block);  // of a super
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
struct HalvedBlocks {
  static constexpr bool kKnown = true, kWhole = false, kBy32 = false, kSigned = false;
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
  static constexpr bool kSigned = true;
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

// Formats of 32 weights. kHead: bytes before a block's codes, a scale in f16 or a scale and another number.
template <typename Block, int kHead>
struct SmallBlocks {
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
  template <bool kAligned>
  static __device__ __forceinline__ void load(const uint8_t* row, int j, int t, uint32_t (&raw)[kWords]) {
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      constexpr int kBlock = sizeof(Block);
      const uint8_t* from = row + (2 * j + u) * kBlock + kHead + t * 4;
      if constexpr (kBlock % 2 != 0) {
        raw[u] = read_word(from);
      } else {
        read_words<1, kAligned>(from, u * kBlock + kHead, raw + u);
      }
    }
  }
};

template <>
struct Codes<BlockQ8_0> : SmallBlocks<BlockQ8_0, 2> {
  static constexpr Order kOrder = Order::kEight;
  static constexpr int kWords = 4;
  template <bool kAligned>
  static __device__ __forceinline__ void load(const uint8_t* row, int j, int t, uint32_t (&raw)[kWords]) {
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      read_words<2, kAligned>(row + (2 * j + u) * kBlock + 2 + t * 8, u * kBlock + 2, raw + 2 * u);
    }
  }
  static __device__ __forceinline__ uint2 codes(const uint32_t (&raw)[kWords], int, int u, const Scales&) {
    return {raw[2 * u], raw[2 * u + 1]};
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
struct FiveBitBlocks : SmallBlocks<Block, kHead> {
  static constexpr Order kOrder = Order::kFour;
  static constexpr int kWords = 4;
  template <bool kAligned>
  static __device__ __forceinline__ void load(const uint8_t* row, int j, int t, uint32_t (&raw)[kWords]) {
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      const uint8_t* block = row + (2 * j + u) * static_cast<int>(sizeof(Block));
      read_words<1, false>(block + kHead + t * 4, 0, raw + u);
      read_words<1, false>(block + kHead - 4, 0, raw + 2 + u);
      raw[2 + u] >>= t * 4;
    }
  }
  static __device__ __forceinline__ uint2 five_bits(const uint32_t (&raw)[kWords], int u) {
    const auto high = [](uint32_t four) { return ((four & 15) * 0x00204081u & 0x01010101u) << 4; };  // a bit a byte
    return {nibbles(raw[u], 0) | high(raw[2 + u]), nibbles(raw[u], 1) | high(raw[2 + u] >> 16)};
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
