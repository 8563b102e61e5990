#include "quant/iq4_xs.h"

#include "quant/blocks.h"
#include "quant/iq4_nl.h"
#include "tensor/half.h"

namespace wick {

void decode_iq4_xs(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockIQ4_XS, 256>(blocks, weights, count, [](const BlockIQ4_XS& block, float* out) {
    const float scale = f16_bits_to_f32(block.scale);
    for (int group = 0; group < 8; ++group) {
      const int low = block.scales_low[group / 2] >> group % 2 * 4 & 15;
      const int high = block.scales_high >> 2 * group & 3;
      const float step = scale * static_cast<float>((low | high << 4) - 32);
      float levels[16];
      for (int i = 0; i < 16; ++i) levels[i] = step * static_cast<float>(kIq4Values[i]);
      const uint8_t* nibbles = block.nibbles + group * 16;
      for (int i = 0; i < 16; ++i) {
        out[group * 32 + i] = levels[nibbles[i] & 15];
        out[group * 32 + 16 + i] = levels[nibbles[i] >> 4];
      }
    }
  });
}

}  // namespace wick
