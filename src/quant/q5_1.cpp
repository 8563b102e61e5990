#include "quant/q5_1.h"

#include "quant/blocks.h"
#include "quant/five_bits.h"
#include "tensor/half.h"

namespace wick {

void decode_q5_1(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockQ5_1, 32>(blocks, weights, count, [](const BlockQ5_1& block, float* out) {
    const float scale = f16_bits_to_f32(block.scale);
    const float min = f16_bits_to_f32(block.min);
    uint8_t quants[32];
    join_five_bits(block.nibbles, block.high_bits, quants);
    for (int i = 0; i < 32; ++i) out[i] = static_cast<float>(quants[i]) * scale + min;
  });
}

}  // namespace wick
