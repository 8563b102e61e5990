#include "quant/iq4_nl.h"

#include "quant/blocks.h"
#include "tensor/half.h"

namespace wick {

void decode_iq4_nl(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockIQ4_NL, 32>(blocks, weights, count, [](const BlockIQ4_NL& block, float* out) {
    const float scale = f16_bits_to_f32(block.scale);
    float levels[16];
    for (int i = 0; i < 16; ++i) levels[i] = scale * static_cast<float>(kIq4Values[i]);
    for (int i = 0; i < 16; ++i) {
      out[i] = levels[block.nibbles[i] & 15];
      out[i + 16] = levels[block.nibbles[i] >> 4];
    }
  });
}

}  // namespace wick
