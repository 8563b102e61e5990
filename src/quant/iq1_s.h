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

}  // namespace wick
