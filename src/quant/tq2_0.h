#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/whole_block.h"

namespace wick {

// TQ2_0: 256 ternary weights; weight = (pair - 1) * scale.
// bytes 0-63: each half of 128 weights has 32 bytes; bits 2s, 2s+1 of byte b hold its weight 32 s + b | 64-65 scale
// (f16)
struct BlockTQ2_0 {
  uint8_t pairs[64];
  uint16_t scale;
};
static_assert(sizeof(BlockTQ2_0) == 66, "on-disk layout");

// The scale of WholeBlock, and all of it.
float whole_scale(const BlockTQ2_0& block);
void expand(const BlockTQ2_0& block, WholeBlock& whole);

void decode_tq2_0(const std::byte* blocks, float* weights, int64_t count);

}  // namespace wick
