#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/whole_block.h"

namespace wick {

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

}  // namespace wick
