#include "quant/iq3_xxs.h"

#include "quant/blocks.h"
#include "quant/codebooks.h"
#include "quant/signed_run.h"
#include "tensor/half.h"

namespace wick {

void decode_iq3_xxs(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockIQ3_XXS, 256>(blocks, weights, count, [](const BlockIQ3_XXS& block, float* out) {
    const float scale = f16_bits_to_f32(block.scale);
    for (int group = 0; group < 8; ++group) {
      uint32_t signs;
      std::memcpy(&signs, block.signs_and_scales + group * 4, sizeof(signs));
      const float step = scale * (0.5f + static_cast<float>(signs >> 28)) * 0.5f;
      for (int pair = 0; pair < 4; ++pair) {
        const uint8_t* index = block.index + group * 8 + pair * 2;
        const uint64_t codes = kIq3xxsGrid[index[0]] | static_cast<uint64_t>(kIq3xxsGrid[index[1]]) << 32;
        write_signed_run(codes, expand_signs(signs >> 7 * pair & 127), step, out + group * 32 + pair * 8);
      }
    }
  });
}

}  // namespace wick
