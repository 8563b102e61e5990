#pragma once

#include <cstddef>
#include <cstdint>

namespace wick {

// NVFP4: 64 weights of 4-bit floats (E2M1, quant/mxfp4.h); every 16 share a scale (E4M3), and all of a tensor another
// one, which is repeated. weight i = E2M1(nibble) * (scales[i / 16] * scale), or, with a negative scale,
// E2M1(nibble) * (scales[i / 16] / -scale): files hold either the factor or the divisor, and each rounds its own way.
// bytes 0-3 scale (f32) | bytes 4-7 scales (E4M3) | bytes 8-39: low nibbles = weights 0-31, high nibbles = 32-63
#pragma pack(push, 2)
struct BlockNVFP4 {
  float scale;
  uint8_t scales[4];
  uint8_t nibbles[32];
};
#pragma pack(pop)
static_assert(sizeof(BlockNVFP4) == 40, "on-disk layout");

void decode_nvfp4(const std::byte* blocks, float* weights, int64_t count);

}  // namespace wick
