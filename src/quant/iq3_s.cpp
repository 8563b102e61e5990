#include "quant/iq3_s.h"

#include "quant/blocks.h"
#include "quant/codebooks.h"
#include "quant/signed_run.h"
#include "tensor/half.h"

namespace wick {

void decode_iq3_s(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockIQ3_S, 256>(blocks, weights, count, [](const BlockIQ3_S& block, float* out) {
    const float scale = f16_bits_to_f32(block.scale);
    for (int group = 0; group < 8; ++group) {
      const int group_scale = block.group_scales[group / 2] >> group % 2 * 4 & 15;
      const float step = scale * static_cast<float>(1 + 2 * group_scale);
      for (int pair = 0; pair < 4; ++pair) {
        const uint8_t* low = block.index_low + group * 8 + pair * 2;
        const uint32_t high = block.index_high[group] >> pair * 2;
        const uint64_t first = kIq3sGrid[low[0] | (high & 1) << 8];
        const uint64_t second = kIq3sGrid[low[1] | (high >> 1 & 1) << 8];
        write_signed_run(first | second << 32, block.signs[group * 4 + pair], step, out + group * 32 + pair * 8);
      }
    }
  });
}

}  // namespace wick
