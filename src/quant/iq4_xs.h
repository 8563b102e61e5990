#pragma once

#include <cstddef>
#include <cstdint>

namespace wick {

// IQ4_XS: 256 weights in 8 groups of 32; weight = scale * (group_scale - 32) * kIq4Values[nibble] (quant/iq4_nl.h).
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
