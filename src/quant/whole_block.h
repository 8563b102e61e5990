#pragma once

#include <cstdint>

#include "quant/blocks.h"

namespace wick {

// A block of 256 weights of the IQ1, IQ2, IQ3 and TQ formats as integers, exactly:
// weight i = scale * group_scales[i / 16] * codes[i].
struct WholeBlock {
  float scale;
  int16_t group_scales[16];
  alignas(32) int8_t codes[256];  // -62 to 62
};

// Eight magnitudes (none is 0), each byte negated where its sign bit is set.
inline void write_signed_run(uint64_t magnitudes, uint8_t signs, int8_t* codes) {
  constexpr uint64_t kOnes = 0x0101010101010101, kLow = 0x7f7f7f7f7f7f7f7f;
  const uint64_t picked = signs * kOnes & 0x8040201008040201;  // byte i is not 0 where sign i is set
  const uint64_t negative = (picked | ((picked & kLow) + kLow)) >> 7 & kOnes;
  const uint64_t values = (magnitudes ^ negative * 255) + negative;  // two's complement; never carries
  std::memcpy(codes, &values, sizeof(values));
}

// Eight codes -1, 0, 1 and their common shift of +-1/8, in eighths.
inline void write_shifted_run(uint64_t ternary, bool down, int8_t* codes) {
  int8_t from[8];
  std::memcpy(from, &ternary, sizeof(from));
  for (int i = 0; i < 8; ++i) codes[i] = static_cast<int8_t>(8 * from[i] + (down ? -1 : 1));
}

inline void set_group_of_32(WholeBlock& whole, int group, int scale) {
  whole.group_scales[2 * group] = whole.group_scales[2 * group + 1] = static_cast<int16_t>(scale);
}

// Decodes through expand(block, whole).
template <typename Block>
void decode_whole(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<Block, 256>(blocks, weights, count, [](const Block& block, float* out) {
    WholeBlock whole;
    expand(block, whole);
    for (int group = 0; group < 16; ++group) {
      const float step = whole.scale * static_cast<float>(whole.group_scales[group]);
      for (int i = group * 16; i < group * 16 + 16; ++i) out[i] = step * static_cast<float>(whole.codes[i]);
    }
  });
}

}  // namespace wick
