#pragma once

#include <cstddef>
#include <cstdint>

namespace wick {

// The 16 levels of NF4 as bitsandbytes defines them: quantiles of a normal distribution.
constexpr float nf4_value(int code) {
  constexpr float kValues[16] = {-1.0f,
                                 -0.6961928009986877f,
                                 -0.5250730514526367f,
                                 -0.39491748809814453f,
                                 -0.28444138169288635f,
                                 -0.18477343022823334f,
                                 -0.09105003625154495f,
                                 0.0f,
                                 0.07958029955625534f,
                                 0.16093020141124725f,
                                 0.24611230194568634f,
                                 0.33791524171829224f,
                                 0.44070982933044434f,
                                 0.5626170039176941f,
                                 0.7229568362236023f,
                                 1.0f};
  return kValues[code];
}

// NF4: 64 weights share a scale, their largest magnitude; weight i = nf4_value(nibble) * scale.
// bytes 0-3 scale (f32) | bytes 4-35: low nibbles = weights 0-31, high nibbles = 32-63
#pragma pack(push, 2)
struct BlockNF4 {
  float scale;
  uint8_t nibbles[32];
};
#pragma pack(pop)
static_assert(sizeof(BlockNF4) == 36, "on-disk layout");

void decode_nf4(const std::byte* blocks, float* weights, int64_t count);

}  // namespace wick
