#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/whole_block.h"

namespace wick {

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

}  // namespace wick
