#pragma once

#include <cstddef>
#include <cstdint>

namespace wick {

// Per-channel INT8: 64 weights; weight i = q * scale. Every block of a row repeats the scale of the whole row, so that
// a block stands alone; an encoder is therefore given one whole row at a time. bytes 0-3 scale (f32) | bytes 4-67: q of
// weights 0-63 (i8, -127 to 127)
#pragma pack(push, 2)
struct BlockI8Channel {
  float scale;
  int8_t quants[64];
};
#pragma pack(pop)
static_assert(sizeof(BlockI8Channel) == 68, "on-disk layout");

void decode_i8_channel(const std::byte* blocks, float* weights, int64_t count);
void encode_i8_channel(const float* weights, std::byte* blocks, int64_t count, const float* importance);

}  // namespace wick
