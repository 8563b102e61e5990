#include "quant/iq1_s.h"

#include "quant/blocks.h"
#include "quant/codebooks.h"
#include "tensor/half.h"

namespace wick {

void decode_iq1_s(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockIQ1_S, 256>(blocks, weights, count, [](const BlockIQ1_S& block, float* out) {
    const float scale = f16_bits_to_f32(block.scale);
    for (int group = 0; group < 8; ++group) {
      const uint32_t high = block.index_high[group];
      const float step = scale * static_cast<float>(2 * (high >> 12 & 7) + 1);
      const float shift = high & 0x8000 ? -kIq1Shift : kIq1Shift;
      for (int run = 0; run < 4; ++run) {
        const uint32_t index = block.index_low[group * 4 + run] | (high >> 3 * run & 7) << 8;
        const auto codes = std::bit_cast<std::array<int8_t, 8>>(kIq1Grid[index]);
        for (int i = 0; i < 8; ++i) out[group * 32 + run * 8 + i] = step * (static_cast<float>(codes[i]) + shift);
      }
    }
  });
}

}  // namespace wick
