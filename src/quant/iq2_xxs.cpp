#include "quant/iq2_xxs.h"

#include "quant/blocks.h"
#include "quant/codebooks.h"
#include "quant/signed_run.h"
#include "tensor/half.h"

namespace wick {

void decode_iq2_xxs(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockIQ2_XXS, 256>(blocks, weights, count, [](const BlockIQ2_XXS& block, float* out) {
    const float scale = f16_bits_to_f32(block.scale);
    for (int group = 0; group < 8; ++group) {
      const uint16_t* codes = block.codes + group * 4;
      const uint32_t indices = codes[0] | static_cast<uint32_t>(codes[1]) << 16;
      const uint32_t signs = codes[2] | static_cast<uint32_t>(codes[3]) << 16;
      const float step = scale * (0.5f + static_cast<float>(signs >> 28)) * 0.25f;
      for (int run = 0; run < 4; ++run) {
        write_signed_run(kIq2xxsGrid[indices >> 8 * run & 255], expand_signs(signs >> 7 * run & 127), step,
                         out + group * 32 + run * 8);
      }
    }
  });
}

}  // namespace wick
