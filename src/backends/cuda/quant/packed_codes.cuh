#pragma once

#include "backends/cuda/gemm/mma.cuh"
#include "backends/cuda/quant/packed_weight.cuh"

// Codes of packed rows as the tensor cores want them: in 8 bits, 8 of each 32 columns in two words of lane t.
//
// A super-block of 256 columns has 8 groups of 32. A format gives
//   load<kAligned>(row, j, t, raw)  lane t's words of groups 2j and 2j + 1
//   codes(raw, j, u, scales)        its 8 codes of group 2j + u
//   scales<kAligned>(row, left)     what a row's codes are multiplied with; `left` groups of it are there
// kAligned: the row's blocks lie at a multiple of 16 bytes. Where kWhole says so they always do.
// Of formats by 32 each group has scales of its own in f16, and so have the activations; those by 256 have whole
// numbers for the groups (their steps) and, like the activations, one scale for all. kSums: how many sums of
// activations' codes there are in a super-block. kUsesSums: the format needs them, because codes count from a minimum
// of their group on, or from kOffset. kUnit: what a block's scale is multiplied with. kCodebookBytes: of the codebook
// that fetch_codebook(from, thread, threads) has to bring to shared memory before.
namespace wick::cuda {

inline constexpr int kSuperBlock = 256;  // rows are filled up with zeros to a multiple of it
inline constexpr int kSuperBlockGroups = kSuperBlock / 32;
__host__ __device__ inline int64_t packed_columns(int64_t k) {
  return (k + kSuperBlock - 1) / kSuperBlock * kSuperBlock;
}

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
// Where the four columns from `column` on lie in a super-block of activations: lane t has 16 bytes for each two groups.
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
struct NoCodebook {
  static constexpr int kCodebookBytes = 0;
  static __device__ __forceinline__ void fetch_codebook(const void*, int, int) {}
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
// Four bits, one in each byte.
__device__ __forceinline__ uint32_t bits_of_bytes(uint32_t four) { return (four & 15) * 0x00204081u & 0x01010101u; }
// The last bytes of four words.
__device__ __forceinline__ uint32_t pack_bytes(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  return __byte_perm(__byte_perm(a, b, 0x0040), __byte_perm(c, d, 0x0040), 0x5410);
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

}  // namespace wick::cuda
