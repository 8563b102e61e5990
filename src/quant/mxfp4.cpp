#include "quant/mxfp4.h"

#include "quant/blocks.h"

namespace wick {

void decode_mxfp4(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockMXFP4, 32>(blocks, weights, count, [](const BlockMXFP4& block, float* out) {
    const float scale = mxfp4_scale(block.exponent);
    float levels[16];
    for (int i = 0; i < 16; ++i) levels[i] = static_cast<float>(kE2M1Doubled[i]) * scale;
    for (int i = 0; i < 16; ++i) {
      out[i] = levels[block.nibbles[i] & 15];
      out[i + 16] = levels[block.nibbles[i] >> 4];
    }
  });
}

}  // namespace wick
