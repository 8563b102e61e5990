#include "quant/q4_1.h"

#include "quant/blocks.h"
#include "tensor/half.h"

namespace wick {

void decode_q4_1(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockQ4_1, 32>(blocks, weights, count, [](const BlockQ4_1& block, float* out) {
    const float scale = f16_bits_to_f32(block.scale);
    const float min = f16_bits_to_f32(block.min);
    for (int i = 0; i < 16; ++i) {
      out[i] = static_cast<float>(block.nibbles[i] & 15) * scale + min;
      out[i + 16] = static_cast<float>(block.nibbles[i] >> 4) * scale + min;
    }
  });
}

}  // namespace wick
