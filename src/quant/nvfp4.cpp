#include "quant/nvfp4.h"

#include "quant/blocks.h"
#include "quant/float8.h"
#include "quant/mxfp4.h"

namespace wick {

void decode_nvfp4(const std::byte* blocks, float* weights, int64_t count) {
  const float* values = f8_e4m3_values();
  decode_blocks<BlockNVFP4, 64>(blocks, weights, count, [&](const BlockNVFP4& block, float* out) {
    for (int g = 0; g < 4; ++g) {
      const float own = values[block.scales[g]];
      const float scale = block.scale < 0 ? own / -block.scale : own * block.scale;
      float levels[16];
      for (int i = 0; i < 16; ++i) levels[i] = 0.5f * static_cast<float>(kE2M1Doubled[i]) * scale;
      const uint8_t* nibbles = block.nibbles + g % 2 * 16;
      for (int i = 0; i < 16; ++i) out[g * 16 + i] = levels[nibbles[i] >> g / 2 * 4 & 15];
    }
  });
}

}  // namespace wick
