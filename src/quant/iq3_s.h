#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/whole_block.h"

namespace wick {

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

}  // namespace wick
