#pragma once

#include "backends/cuda/quant/codebooks.h"
#include "backends/cuda/runtime/types.cuh"
#include "quant/codebooks.h"
#include "quant/f8_channel.h"
#include "quant/group_quants.h"
#include "quant/i8_channel.h"
#include "quant/i_quants.h"
#include "quant/k_quants.h"
#include "quant/legacy_quants.h"
#include "quant/mxfp4.h"
#include "quant/nf4.h"
#include "quant/nvfp4.h"
#include "quant/ternary_quants.h"

// Weight i of a block of every packed format, bit for bit as quant/ decodes it: products and sums are rounded one by
// one
// (__fmul_rn), never fused.
namespace wick::cuda {

__device__ __forceinline__ float half_bits(uint16_t bits) { return __half2float(__ushort_as_half(bits)); }
__device__ __forceinline__ float scaled(float step, int code) { return __fmul_rn(step, static_cast<float>(code)); }
__device__ __forceinline__ int sign_of(uint32_t signs, int j) { return signs >> j & 1 ? -1 : 1; }
__device__ __forceinline__ uint32_t eight_signs(uint32_t seven) { return seven | (__popc(seven) & 1u) << 7; }
__device__ __forceinline__ int byte_of(uint64_t word, int j) { return static_cast<int8_t>(word >> 8 * j); }
__device__ __forceinline__ int nibble32(const uint8_t* nibbles, int i) { return nibbles[i % 16] >> i / 16 * 4 & 15; }

// Scale and min of group g of Q4_K and Q5_K (layout in quant/group_quants.h).
__device__ __forceinline__ int2 group_scale(const uint8_t* packed, int g) {
  if (g < 4) return {packed[g] & 63, packed[g + 4] & 63};
  return {(packed[g + 4] & 15) | (packed[g - 4] >> 6 << 4), (packed[g + 4] >> 4) | (packed[g] >> 6 << 4)};
}

__device__ __forceinline__ float packed_weight(const BlockQ4_0& b, int i, const Codebooks&) {
  return scaled(half_bits(b.scale), nibble32(b.nibbles, i) - 8);
}
__device__ __forceinline__ float packed_weight(const BlockQ4_1& b, int i, const Codebooks&) {
  return __fadd_rn(scaled(half_bits(b.scale), nibble32(b.nibbles, i)), half_bits(b.min));
}
__device__ __forceinline__ int high_bit(const uint8_t* bits, int i) { return (bits[i / 8] >> i % 8 & 1) << 4; }
__device__ __forceinline__ float packed_weight(const BlockQ5_0& b, int i, const Codebooks&) {
  return scaled(half_bits(b.scale), (nibble32(b.nibbles, i) | high_bit(b.high_bits, i)) - 16);
}
__device__ __forceinline__ float packed_weight(const BlockQ5_1& b, int i, const Codebooks&) {
  const int quant = nibble32(b.nibbles, i) | high_bit(b.high_bits, i);
  return __fadd_rn(scaled(half_bits(b.scale), quant), half_bits(b.min));
}
__device__ __forceinline__ float packed_weight(const BlockQ8_0& b, int i, const Codebooks&) {
  return scaled(half_bits(b.scale), b.quants[i]);
}
__device__ __forceinline__ float packed_weight(const BlockQ4_K& b, int i, const Codebooks&) {
  const int2 group = group_scale(b.group_scales, i / 32);
  const int quant = b.nibbles[i / 64 * 32 + i % 32] >> i / 32 % 2 * 4 & 15;
  const float step = scaled(half_bits(b.scale), group.x), min = scaled(half_bits(b.min_scale), group.y);
  return __fsub_rn(scaled(step, quant), min);
}
__device__ __forceinline__ float packed_weight(const BlockQ5_K& b, int i, const Codebooks&) {
  const int2 group = group_scale(b.group_scales, i / 32);
  const int quant = (b.nibbles[i / 64 * 32 + i % 32] >> i / 32 % 2 * 4 & 15) | (b.high_bits[i % 32] >> i / 32 & 1) << 4;
  const float step = scaled(half_bits(b.scale), group.x), min = scaled(half_bits(b.min_scale), group.y);
  return __fsub_rn(scaled(step, quant), min);
}
__device__ __forceinline__ float packed_weight(const BlockQ6_K& b, int i, const Codebooks&) {
  const int half = i / 128, j = i % 128;
  const int quant =
      (b.nibbles[half * 64 + j % 64] >> j / 64 * 4 & 15) | (b.high_pairs[half * 32 + j % 32] >> j / 32 * 2 & 3) << 4;
  return scaled(scaled(half_bits(b.scale), b.group_scales[i / 16]), quant - 32);
}
__device__ __forceinline__ float packed_weight(const BlockQ2_K& b, int i, const Codebooks&) {
  const int group = b.group_scales[i / 16], quant = b.quants[i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3;
  const float step = scaled(half_bits(b.scale), group & 15), min = scaled(half_bits(b.min_scale), group >> 4);
  return __fsub_rn(scaled(step, quant), min);
}
__device__ __forceinline__ float packed_weight(const BlockQ3_K& b, int i, const Codebooks&) {
  const int g = i / 16;
  const int group = (b.group_scales[g % 8] >> (g < 8 ? 0 : 4) & 15) | (b.group_scales[8 + g % 4] >> 2 * (g / 4) & 3)
                                                                          << 4;
  const int quant = (b.low_pairs[i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3) | (b.high_bits[i % 32] >> i / 32 & 1)
                                                                                       << 2;
  return scaled(scaled(half_bits(b.scale), group - 32), quant - 4);
}
__device__ __forceinline__ float packed_weight(const BlockQ8_K& b, int i, const Codebooks&) {
  return scaled(b.scale, b.quants[i]);
}
// Entries of a constant table of the host from `first` on, as the bytes of a word, and entry i.
template <typename Word, const int8_t (&kTable)[16]>
constexpr Word table_word(int first) {
  Word word = 0;
  for (int j = 0; j < static_cast<int>(sizeof(Word)); ++j) {
    word |= static_cast<Word>(static_cast<uint8_t>(kTable[first + j])) << 8 * j;
  }
  return word;
}
template <const int8_t (&kTable)[16]>
__device__ __forceinline__ int table_entry(int i) {
  constexpr auto kLow = table_word<uint64_t, kTable>(0), kHigh = table_word<uint64_t, kTable>(8);
  return byte_of(i < 8 ? kLow : kHigh, i % 8);
}
__device__ __forceinline__ int iq4_value(int nibble) { return table_entry<kIq4Values>(nibble); }
__device__ __forceinline__ float packed_weight(const BlockIQ4_NL& b, int i, const Codebooks&) {
  return scaled(half_bits(b.scale), iq4_value(nibble32(b.nibbles, i)));
}
__device__ __forceinline__ float packed_weight(const BlockIQ4_XS& b, int i, const Codebooks&) {
  const int g = i / 32, low = b.scales_low[g / 2] >> g % 2 * 4 & 15, high = b.scales_high >> 2 * g & 3;
  return scaled(scaled(half_bits(b.scale), (low | high << 4) - 32), iq4_value(nibble32(b.nibbles + g * 16, i % 32)));
}
__device__ __forceinline__ float packed_weight(const BlockMXFP4& b, int i, const Codebooks&) {
  const float scale =
      __uint_as_float(b.exponent < 2 ? 0x00200000u << b.exponent : static_cast<uint32_t>(b.exponent - 1) << 23);
  return scaled(scale, table_entry<kE2M1Doubled>(nibble32(b.nibbles, i)));
}
__device__ __forceinline__ float packed_weight(const BlockGroup4& b, int i, const Codebooks&) {
  return __fmul_rn(half_bits(b.scale), __fsub_rn(static_cast<float>(nibble32(b.nibbles, i)), half_bits(b.zero)));
}
__device__ __forceinline__ float packed_weight(const BlockGroup8& b, int i, const Codebooks&) {
  return __fmul_rn(half_bits(b.scale), __fsub_rn(static_cast<float>(b.quants[i]), half_bits(b.zero)));
}
__device__ __forceinline__ float packed_weight(const BlockI8Channel& b, int i, const Codebooks&) {
  return scaled(b.scale, b.quants[i]);
}
__device__ __forceinline__ float packed_weight(const BlockIQ1_S& b, int i, const Codebooks& books) {
  const int g = i / 32, run = i % 32 / 8;
  const uint32_t high = b.index_high[g], index = b.index_low[g * 4 + run] | (high >> 3 * run & 7) << 8;
  const int code = 8 * byte_of(books.iq1[index], i % 8) + (high & 0x8000 ? -1 : 1);
  const float scale = __fmul_rn(half_bits(b.scale), kIq1Shift);
  return scaled(scaled(scale, static_cast<int>(2 * (high >> 12 & 7) + 1)), code);
}
__device__ __forceinline__ float packed_weight(const BlockIQ1_M& b, int i, const Codebooks& books) {
  const auto word = [&](int w) { return static_cast<uint32_t>(b.scales[2 * w] | b.scales[2 * w + 1] << 8); };
  uint32_t bits = 0;
  for (int w = 0; w < 4; ++w) bits |= (word(w) >> 12) << 4 * w;
  const int g = i / 16, run = i / 8;
  const uint32_t high = b.index_high[run / 2] >> run % 2 * 4;
  const int code = 8 * byte_of(books.iq1[b.index_low[run] | (high & 7) << 8], i % 8) + (high & 8 ? -1 : 1);
  const float scale = __fmul_rn(half_bits(static_cast<uint16_t>(bits)), kIq1Shift);
  return scaled(scaled(scale, static_cast<int>(2 * (word(g / 4) >> 3 * (g % 4) & 7) + 1)), code);
}
__device__ __forceinline__ float packed_weight(const BlockIQ2_XXS& b, int i, const Codebooks& books) {
  const int g = i / 32, run = i % 32 / 8;
  const uint32_t signs = b.codes[g * 4 + 2] | static_cast<uint32_t>(b.codes[g * 4 + 3]) << 16;
  const uint32_t index = b.codes[g * 4 + run / 2] >> run % 2 * 8 & 255;
  const int code = byte_of(books.iq2_xxs[index], i % 8) * sign_of(eight_signs(signs >> 7 * run & 127), i % 8);
  return scaled(scaled(half_bits(b.scale) / 8, static_cast<int>(2 * (signs >> 28) + 1)), code);
}
__device__ __forceinline__ float packed_weight(const BlockIQ2_XS& b, int i, const Codebooks& books) {
  const int g = i / 16;
  const uint32_t run = b.codes[i / 8];
  const int code = byte_of(books.iq2_xs[run & 511], i % 8) * sign_of(eight_signs(run >> 9), i % 8);
  return scaled(scaled(half_bits(b.scale) / 8, 2 * (b.group_scales[g / 2] >> g % 2 * 4 & 15) + 1), code);
}
__device__ __forceinline__ float packed_weight(const BlockIQ2_S& b, int i, const Codebooks& books) {
  const int g = i / 16, run = i / 8;
  const int index = b.index_low[run] | (b.index_high[run / 4] >> run % 4 * 2 & 3) << 8;
  const int code = byte_of(books.iq2_s[index], i % 8) * sign_of(b.signs[run], i % 8);
  return scaled(scaled(half_bits(b.scale) / 8, 2 * (b.group_scales[g / 2] >> g % 2 * 4 & 15) + 1), code);
}
__device__ __forceinline__ float packed_weight(const BlockIQ3_S& b, int i, const Codebooks& books) {
  const int g = i / 32, run = i / 4;
  const uint32_t index = b.index_low[run] | (b.index_high[g] >> run % 8 & 1u) << 8;
  const int code = byte_of(books.iq3_s[index], i % 4) * sign_of(b.signs[i / 8], i % 8);
  return scaled(scaled(half_bits(b.scale), 2 * (b.group_scales[g / 2] >> g % 2 * 4 & 15) + 1), code);
}
__device__ __forceinline__ float packed_weight(const BlockIQ3_XXS& b, int i, const Codebooks& books) {
  const int g = i / 32;
  const uint8_t* bytes = b.signs_and_scales + g * 4;
  const uint32_t signs = bytes[0] | bytes[1] << 8 | bytes[2] << 16 | static_cast<uint32_t>(bytes[3]) << 24;
  const int code =
      byte_of(books.iq3_xxs[b.index[i / 4]], i % 4) * sign_of(eight_signs(signs >> 7 * (i % 32 / 8) & 127), i % 8);
  return scaled(scaled(half_bits(b.scale) / 4, static_cast<int>(2 * (signs >> 28) + 1)), code);
}
__device__ __forceinline__ int trit(uint8_t byte, int n) {
  constexpr int kPowers[5] = {1, 3, 9, 27, 81};
  return (((byte * kPowers[n]) & 255) * 3 >> 8) - 1;
}
__device__ __forceinline__ float packed_weight(const BlockTQ1_0& b, int i, const Codebooks&) {
  const int code = i < 160   ? trit(b.trits[i % 32], i / 32)
                   : i < 240 ? trit(b.trits[32 + (i - 160) % 16], (i - 160) / 16)
                             : trit(b.last_trits[(i - 240) % 4], (i - 240) / 4);
  return scaled(half_bits(b.scale), code);
}
__device__ __forceinline__ float packed_weight(const BlockTQ2_0& b, int i, const Codebooks&) {
  return scaled(half_bits(b.scale), (b.pairs[i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3) - 1);
}

// Floats of one byte.
struct BlockF8E4M3 {
  uint8_t bits;
};
struct BlockF8E5M2 {
  uint8_t bits;
};
struct BlockF8E8M0 {
  uint8_t bits;
};
__device__ __forceinline__ float packed_weight(const BlockF8E4M3& b, int, const Codebooks&) {
  const int exponent = b.bits >> 3 & 15, mantissa = b.bits & 7;
  if ((b.bits & 0x7f) == 0x7f) return __uint_as_float(0x7fc00000u | static_cast<uint32_t>(b.bits & 0x80) << 24);
  const float magnitude =
      exponent == 0 ? static_cast<float>(mantissa) * 0x1p-9f : ldexpf(static_cast<float>(8 + mantissa), exponent - 10);
  return b.bits & 0x80 ? -magnitude : magnitude;
}
__device__ __forceinline__ float packed_weight(const BlockF8E5M2& b, int, const Codebooks&) {
  return half_bits(static_cast<uint16_t>(b.bits << 8));
}
__device__ __forceinline__ float packed_weight(const BlockF8E8M0& b, int, const Codebooks&) {
  return b.bits == 0xff ? __uint_as_float(0x7fc00000u) : ldexpf(1.0f, b.bits - 127);
}
__device__ __forceinline__ float packed_weight(const BlockF8Channel& b, int i, const Codebooks& books) {
  return __fmul_rn(b.scale, packed_weight(BlockF8E4M3{b.quants[i]}, 0, books));
}
__device__ __forceinline__ float packed_weight(const BlockNF4& b, int i, const Codebooks&) {
  return __fmul_rn(b.scale, nf4_value(b.nibbles[i % 32] >> i / 32 * 4 & 15));
}
__device__ __forceinline__ float packed_weight(const BlockNVFP4& b, int i, const Codebooks& books) {
  const float own = packed_weight(BlockF8E4M3{b.scales[i / 16]}, 0, books);
  const float scale = b.scale < 0 ? __fdiv_rn(own, -b.scale) : __fmul_rn(own, b.scale);
  return __fmul_rn(scale, 0.5f * static_cast<float>(table_entry<kE2M1Doubled>(b.nibbles[i % 32] >> i / 32 * 4 & 15)));
}

// Calls body(Block{}) with the format's block.
template <typename Body>
void visit_packed(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::kF8E4M3: return body(BlockF8E4M3{});
    case DType::kF8E5M2: return body(BlockF8E5M2{});
    case DType::kF8E8M0: return body(BlockF8E8M0{});
    case DType::kQ4_0: return body(BlockQ4_0{});
    case DType::kQ4_1: return body(BlockQ4_1{});
    case DType::kQ5_0: return body(BlockQ5_0{});
    case DType::kQ5_1: return body(BlockQ5_1{});
    case DType::kQ8_0: return body(BlockQ8_0{});
    case DType::kQ2_K: return body(BlockQ2_K{});
    case DType::kQ3_K: return body(BlockQ3_K{});
    case DType::kQ4_K: return body(BlockQ4_K{});
    case DType::kQ5_K: return body(BlockQ5_K{});
    case DType::kQ6_K: return body(BlockQ6_K{});
    case DType::kQ8_K: return body(BlockQ8_K{});
    case DType::kIQ4_NL: return body(BlockIQ4_NL{});
    case DType::kIQ4_XS: return body(BlockIQ4_XS{});
    case DType::kMXFP4: return body(BlockMXFP4{});
    case DType::kIQ1_S: return body(BlockIQ1_S{});
    case DType::kIQ1_M: return body(BlockIQ1_M{});
    case DType::kIQ2_XXS: return body(BlockIQ2_XXS{});
    case DType::kIQ2_XS: return body(BlockIQ2_XS{});
    case DType::kIQ2_S: return body(BlockIQ2_S{});
    case DType::kIQ3_XXS: return body(BlockIQ3_XXS{});
    case DType::kIQ3_S: return body(BlockIQ3_S{});
    case DType::kTQ1_0: return body(BlockTQ1_0{});
    case DType::kTQ2_0: return body(BlockTQ2_0{});
    case DType::kI8Channel: return body(BlockI8Channel{});
    case DType::kGroup4: return body(BlockGroup4{});
    case DType::kGroup8: return body(BlockGroup8{});
    case DType::kF8Channel: return body(BlockF8Channel{});
    case DType::kNF4: return body(BlockNF4{});
    case DType::kNVFP4: return body(BlockNVFP4{});
    default: throw Error(ErrorCode::kDType, cat(dtype, " is not a packed dtype"));
  }
}

}  // namespace wick::cuda
