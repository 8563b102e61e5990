#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/whole_block.h"

namespace wick {

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

}  // namespace wick
