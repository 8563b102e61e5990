#include "quant/i8_channel.h"

#include "quant/blocks.h"

namespace wick {

void decode_i8_channel(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockI8Channel, 64>(blocks, weights, count, [](const BlockI8Channel& block, float* out) {
    const float scale = block.scale;
    for (int i = 0; i < 64; ++i) out[i] = scale * static_cast<float>(block.quants[i]);
  });
}

}  // namespace wick
