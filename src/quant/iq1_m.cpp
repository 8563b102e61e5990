#include "quant/iq1_m.h"

#include "quant/blocks.h"
#include "quant/codebooks.h"
#include "tensor/half.h"

namespace wick {

void decode_iq1_m(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockIQ1_M, 256>(blocks, weights, count, [](const BlockIQ1_M& block, float* out) {
    uint16_t words[4];
    std::memcpy(words, block.scales, sizeof(words));
    uint32_t scale_bits = 0;
    for (int i = 0; i < 4; ++i) scale_bits |= static_cast<uint32_t>(words[i] >> 12) << 4 * i;
    const float scale = f16_bits_to_f32(static_cast<uint16_t>(scale_bits));
    for (int run = 0; run < 32; ++run) {
      const int group = run / 2;
      const float step = scale * static_cast<float>(2 * (words[group / 4] >> 3 * (group % 4) & 7) + 1);
      const uint32_t high = block.index_high[run / 2] >> run % 2 * 4;
      const float shift = high & 8 ? -kIq1Shift : kIq1Shift;
      const auto codes = std::bit_cast<std::array<int8_t, 8>>(kIq1Grid[block.index_low[run] | (high & 7) << 8]);
      for (int i = 0; i < 8; ++i) out[run * 8 + i] = step * (static_cast<float>(codes[i]) + shift);
    }
  });
}

}  // namespace wick
