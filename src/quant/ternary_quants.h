#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/whole_block.h"

namespace wick {

// TQ1_0: 256 ternary weights; weight = (trit - 1) * scale. A byte b holds 5 trits in base 3 as a fraction of 256:
// trit n = floor(3 * ((b * 3^n) mod 256) / 256).
// bytes 0-31: trit n of byte b = weight 32 n + b | bytes 32-47: trit n of byte b = weight 160 + 16 n + b
// bytes 48-51: trit n (0 to 3) of byte b = weight 240 + 4 n + b | 52-53 scale (f16)
struct BlockTQ1_0 {
  uint8_t trits[48];
  uint8_t last_trits[4];
  uint16_t scale;
};
static_assert(sizeof(BlockTQ1_0) == 54, "on-disk layout");

// The scale of WholeBlock, and all of it.
float whole_scale(const BlockTQ1_0& block);
void expand(const BlockTQ1_0& block, WholeBlock& whole);

void decode_tq1_0(const std::byte* blocks, float* weights, int64_t count);

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
