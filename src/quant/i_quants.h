#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/whole_block.h"

namespace wick {

// IQ1_S: 256 weights in 8 groups of 32, each 4 runs of 8 from a codebook of {-1, 0, 1}^8 (kIq1Grid, quant/codebooks.h);
// weight = scale * (2 * group_scale + 1) * (code + shift), shift = +-kIq1Shift.
// bytes 0-1 scale (f16) | 2-33 low 8 bits of the index of each run
// bytes 34-49, one u16 per group: bits 3r.. = high 3 bits of the index of run r | bits 12-14 group_scale | bit 15:
// shift < 0
struct BlockIQ1_S {
  uint16_t scale;
  uint8_t index_low[32];
  uint16_t index_high[8];
};
static_assert(sizeof(BlockIQ1_S) == 50, "on-disk layout");

// The scale of WholeBlock, and all of it.
float whole_scale(const BlockIQ1_S& block);
void expand(const BlockIQ1_S& block, WholeBlock& whole);

void decode_iq1_s(const std::byte* blocks, float* weights, int64_t count);

// IQ1_M: 256 weights in 16 groups of 16, each 2 runs of 8 from a codebook of {-1, 0, 1}^8 (kIq1Grid,
// quant/codebooks.h); weight = scale * (2 * group_scale + 1) * (code + shift), shift = +-kIq1Shift. bytes 0-31 low 8
// bits of the index of each run bytes 32-47: one nibble per run, low nibble first: bits 0-2 = high 3 bits of the index
// | bit 3: shift < 0 bytes 48-55: four little-endian u16; bits 3g.. of each = group_scale of its group g in 0..3; bits
// 12-15 of the four,
//   the first one lowest, make up scale (f16)
struct BlockIQ1_M {
  uint8_t index_low[32];
  uint8_t index_high[16];
  uint8_t scales[8];
};
static_assert(sizeof(BlockIQ1_M) == 56, "on-disk layout");

// The scale of WholeBlock, and all of it.
float whole_scale(const BlockIQ1_M& block);
void expand(const BlockIQ1_M& block, WholeBlock& whole);

void decode_iq1_m(const std::byte* blocks, float* weights, int64_t count);

// IQ2_XXS: 256 weights in 8 groups of 32, each 4 runs of 8 from a codebook (kIq2xxsGrid, quant/codebooks.h);
// weight = scale * (group_scale + 0.5) / 4 * code * sign.
// bytes 0-1 scale (f16) | bytes 2-65: 8 bytes a group: 4 indices (u8), then a little-endian u32:
//   bits 7r.. = signs of run r (expand_signs) | bits 28-31 group_scale
struct BlockIQ2_XXS {
  uint16_t scale;
  uint16_t codes[32];
};
static_assert(sizeof(BlockIQ2_XXS) == 66, "on-disk layout");

// The scale of WholeBlock, and all of it.
float whole_scale(const BlockIQ2_XXS& block);
void expand(const BlockIQ2_XXS& block, WholeBlock& whole);

void decode_iq2_xxs(const std::byte* blocks, float* weights, int64_t count);

// IQ2_XS: 256 weights in 16 groups of 16, each 2 runs of 8 from a codebook (kIq2xsGrid, quant/codebooks.h);
// weight = scale * (group_scale + 0.5) / 4 * code * sign.
// bytes 0-1 scale (f16) | 2-65: one u16 per run: bits 0-8 index | bits 9-15 signs (expand_signs)
// bytes 66-73 group scales: low nibble = even group, high nibble = odd group
struct BlockIQ2_XS {
  uint16_t scale;
  uint16_t codes[32];
  uint8_t group_scales[8];
};
static_assert(sizeof(BlockIQ2_XS) == 74, "on-disk layout");

// The scale of WholeBlock, and all of it.
float whole_scale(const BlockIQ2_XS& block);
void expand(const BlockIQ2_XS& block, WholeBlock& whole);

void decode_iq2_xs(const std::byte* blocks, float* weights, int64_t count);

// IQ2_S: 256 weights in 16 groups of 16, each 2 runs of 8 from a codebook (kIq2sGrid, quant/codebooks.h);
// weight = scale * (group_scale + 0.5) / 4 * code * sign.
// bytes 0-1 scale (f16) | 2-33 low 8 bits of the index of each run | 34-65 signs of each run, bit j set: weight j < 0
// bytes 66-73: bits 2r.. of byte b = high 2 bits of the index of run 4 b + r
// bytes 74-81 group scales: low nibble = even group, high nibble = odd group
struct BlockIQ2_S {
  uint16_t scale;
  uint8_t index_low[32];
  uint8_t signs[32];
  uint8_t index_high[8];
  uint8_t group_scales[8];
};
static_assert(sizeof(BlockIQ2_S) == 82, "on-disk layout");

// The scale of WholeBlock, and all of it.
float whole_scale(const BlockIQ2_S& block);
void expand(const BlockIQ2_S& block, WholeBlock& whole);

void decode_iq2_s(const std::byte* blocks, float* weights, int64_t count);

// IQ3_XXS: 256 weights in 8 groups of 32, each 8 runs of 4 from a codebook (kIq3xxsGrid, quant/codebooks.h);
// weight = scale * (group_scale + 0.5) / 2 * code * sign.
// bytes 0-1 scale (f16) | 2-65 index of each run
// bytes 66-97: a little-endian u32 per group: bits 7p.. = signs of the pair p of runs (expand_signs) | bits 28-31
// group_scale
struct BlockIQ3_XXS {
  uint16_t scale;
  uint8_t index[64];
  uint8_t signs_and_scales[32];
};
static_assert(sizeof(BlockIQ3_XXS) == 98, "on-disk layout");

// The scale of WholeBlock, and all of it.
float whole_scale(const BlockIQ3_XXS& block);
void expand(const BlockIQ3_XXS& block, WholeBlock& whole);

void decode_iq3_xxs(const std::byte* blocks, float* weights, int64_t count);

// IQ3_S: 256 weights in 8 groups of 32, each 8 runs of 4 from a codebook (kIq3sGrid, quant/codebooks.h);
// weight = scale * (2 * group_scale + 1) * code * sign.
// bytes 0-1 scale (f16) | 2-65 low 8 bits of the index of each run | 66-73 one byte per group: bit r = high bit of run
// r bytes 74-105 signs of each pair of runs, bit j set: weight j < 0 bytes 106-109 group scales: low nibble = even
// group, high nibble = odd group
struct BlockIQ3_S {
  uint16_t scale;
  uint8_t index_low[64];
  uint8_t index_high[8];
  uint8_t signs[32];
  uint8_t group_scales[4];
};
static_assert(sizeof(BlockIQ3_S) == 110, "on-disk layout");

// The scale of WholeBlock, and all of it.
float whole_scale(const BlockIQ3_S& block);
void expand(const BlockIQ3_S& block, WholeBlock& whole);

void decode_iq3_s(const std::byte* blocks, float* weights, int64_t count);

// The 16 levels of IQ4_NL and IQ4_XS: denser near zero, where most weights lie.
inline constexpr int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

// IQ4_NL: 32 weights share one scale; weight i = scale * kIq4Values[nibble].
// bytes 0-1 scale (f16) | bytes 2-17: low nibbles = weights 0-15, high nibbles = 16-31
struct BlockIQ4_NL {
  uint16_t scale;
  uint8_t nibbles[16];
};
static_assert(sizeof(BlockIQ4_NL) == 18, "on-disk layout");

void decode_iq4_nl(const std::byte* blocks, float* weights, int64_t count);
void encode_iq4_nl(const float* weights, std::byte* blocks, int64_t count, const float* importance);

// IQ4_XS: 256 weights in 8 groups of 32; weight = scale * (group_scale - 32) * kIq4Values[nibble] (quant/i_quants.h).
// bytes 0-1 scale (f16) | 2-3 high 2 bits of the group scales: bits 2g, 2g+1 = group g
// bytes 4-7 low 4 bits: group 0 = low nibble of the first byte, group 1 = its high nibble, ...
// bytes 8-135: 16 bytes a group; low nibbles = its weights 0-15, high nibbles = 16-31
struct BlockIQ4_XS {
  uint16_t scale;
  uint16_t scales_high;
  uint8_t scales_low[4];
  uint8_t nibbles[128];
};
static_assert(sizeof(BlockIQ4_XS) == 136, "on-disk layout");

void decode_iq4_xs(const std::byte* blocks, float* weights, int64_t count);
void encode_iq4_xs(const float* weights, std::byte* blocks, int64_t count, const float* importance);

}  // namespace wick
