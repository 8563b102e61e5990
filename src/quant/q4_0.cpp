#include "quant/q4_0.h"

#include "quant/blocks.h"
#include "tensor/half.h"

namespace wick {

void decode_q4_0(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockQ4_0, 32>(blocks, weights, count, [](const BlockQ4_0& block, float* out) {
    const float scale = f16_bits_to_f32(block.scale);
    for (int i = 0; i < 16; ++i) {
      out[i] = static_cast<float>((block.nibbles[i] & 15) - 8) * scale;
      out[i + 16] = static_cast<float>((block.nibbles[i] >> 4) - 8) * scale;
    }
  });
}

}  // namespace wick
