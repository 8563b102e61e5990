#include "quant/q8_k.h"

#include "quant/blocks.h"

namespace wick {

void decode_q8_k(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockQ8_K, 256>(blocks, weights, count, [](const BlockQ8_K& block, float* out) {
    const float scale = block.scale;
    for (int i = 0; i < 256; ++i) out[i] = scale * static_cast<float>(block.quants[i]);
  });
}

}  // namespace wick
