#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/whole_block.h"

namespace wick {

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

}  // namespace wick
