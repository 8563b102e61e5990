#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/whole_block.h"

namespace wick {

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

}  // namespace wick
