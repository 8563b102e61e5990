#include "quant/f8_channel.h"

#include "quant/blocks.h"
#include "quant/float8.h"

namespace wick {

void decode_f8_channel(const std::byte* blocks, float* weights, int64_t count) {
  const float* values = f8_e4m3_values();
  decode_blocks<BlockF8Channel, 64>(blocks, weights, count, [&](const BlockF8Channel& block, float* out) {
    const float scale = block.scale;
    for (int i = 0; i < 64; ++i) out[i] = values[block.quants[i]] * scale;
  });
}

}  // namespace wick
