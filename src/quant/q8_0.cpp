#include "quant/q8_0.h"

#include "quant/blocks.h"
#include "tensor/half.h"

namespace wick {

void decode_q8_0(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockQ8_0, 32>(blocks, weights, count, [](const BlockQ8_0& block, float* out) {
    const float scale = f16_bits_to_f32(block.scale);
    for (int i = 0; i < 32; ++i) out[i] = static_cast<float>(block.quants[i]) * scale;
  });
}

}  // namespace wick
