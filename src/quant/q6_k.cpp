#include "quant/q6_k.h"

#include "quant/blocks.h"
#include "tensor/half.h"

namespace wick {

void decode_q6_k(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockQ6_K, 256>(blocks, weights, count, [](const BlockQ6_K& block, float* out) {
    const float scale = f16_bits_to_f32(block.scale);
    for (int group = 0; group < 16; ++group) {
      const float step = scale * static_cast<float>(block.group_scales[group]);
      const uint8_t* nibbles = block.nibbles + group / 8 * 64 + group % 4 * 16;
      const uint8_t* high = block.high_pairs + group / 8 * 32 + group % 2 * 16;
      const int nibble_shift = group % 8 / 4 * 4;
      const int high_shift = group % 8 / 2 * 2;
      for (int i = 0; i < 16; ++i) {
        const int quant = (nibbles[i] >> nibble_shift & 15) | (high[i] >> high_shift & 3) << 4;
        out[group * 16 + i] = step * static_cast<float>(quant - 32);
      }
    }
  });
}

}  // namespace wick
