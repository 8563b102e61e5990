#include "quant/group8.h"

#include "quant/blocks.h"
#include "tensor/half.h"

namespace wick {

void decode_group8(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockGroup8, 32>(blocks, weights, count, [](const BlockGroup8& block, float* out) {
    const float scale = f16_bits_to_f32(block.scale);
    const float zero = f16_bits_to_f32(block.zero);
    for (int i = 0; i < 32; ++i) out[i] = scale * (static_cast<float>(block.quants[i]) - zero);
  });
}

}  // namespace wick
