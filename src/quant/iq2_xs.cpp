#include "quant/iq2_xs.h"

#include "quant/blocks.h"
#include "quant/codebooks.h"
#include "quant/signed_run.h"
#include "tensor/half.h"

namespace wick {

void decode_iq2_xs(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockIQ2_XS, 256>(blocks, weights, count, [](const BlockIQ2_XS& block, float* out) {
    const float scale = f16_bits_to_f32(block.scale);
    for (int run = 0; run < 32; ++run) {
      const int group_scale = block.group_scales[run / 4] >> run % 4 / 2 * 4 & 15;
      const float step = scale * (0.5f + static_cast<float>(group_scale)) * 0.25f;
      const uint32_t code = block.codes[run];
      write_signed_run(kIq2xsGrid[code & 511], expand_signs(code >> 9), step, out + run * 8);
    }
  });
}

}  // namespace wick
