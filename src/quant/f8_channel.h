#pragma once

#include <cstddef>
#include <cstdint>

namespace wick {

// FP8 with scales: 64 weights of E4M3 (quant/float8.h) that share one; weight i = q * scale. Scales of larger groups,
// a whole row or tensor for the most, are repeated.
// bytes 0-3 scale (f32) | bytes 4-67: q of weights 0-63 (E4M3)
#pragma pack(push, 2)
struct BlockF8Channel {
  float scale;
  uint8_t quants[64];
};
#pragma pack(pop)
static_assert(sizeof(BlockF8Channel) == 68, "on-disk layout");

void decode_f8_channel(const std::byte* blocks, float* weights, int64_t count);

}  // namespace wick
