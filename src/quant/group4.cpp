#include "quant/group4.h"

#include "quant/blocks.h"
#include "tensor/half.h"

namespace wick {

void decode_group4(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockGroup4, 32>(blocks, weights, count, [](const BlockGroup4& block, float* out) {
    const float scale = f16_bits_to_f32(block.scale);
    const float zero = f16_bits_to_f32(block.zero);
    for (int i = 0; i < 16; ++i) {
      out[i] = scale * (static_cast<float>(block.nibbles[i] & 15) - zero);
      out[i + 16] = scale * (static_cast<float>(block.nibbles[i] >> 4) - zero);
    }
  });
}

}  // namespace wick
