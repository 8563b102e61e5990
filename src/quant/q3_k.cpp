#include "quant/q3_k.h"

#include "quant/blocks.h"
#include "quant/group_scales.h"
#include "tensor/half.h"

namespace wick {

void decode_q3_k(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockQ3_K, 256>(blocks, weights, count, [](const BlockQ3_K& block, float* out) {
    const float scale = f16_bits_to_f32(block.scale);
    uint8_t group_scales[16];
    unpack_q3_k_scales(block.group_scales, group_scales);
    for (int group = 0; group < 16; ++group) {
      const float step = scale * static_cast<float>(group_scales[group] - 32);
      const uint8_t* low = block.low_pairs + group / 8 * 32 + group % 2 * 16;
      const uint8_t* high = block.high_bits + group % 2 * 16;
      const int low_shift = group % 8 / 2 * 2;
      const int high_shift = group / 2;
      for (int i = 0; i < 16; ++i) {
        const int quant = (low[i] >> low_shift & 3) | (high[i] >> high_shift & 1) << 2;
        out[group * 16 + i] = step * static_cast<float>(quant - 4);
      }
    }
  });
}

}  // namespace wick
