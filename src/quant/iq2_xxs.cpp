#include "quant/iq2_xxs.h"

#include "quant/codebooks.h"
#include "tensor/half.h"

namespace wick {

float whole_scale(const BlockIQ2_XXS& block) { return f16_bits_to_f32(block.scale) / 8; }

void expand(const BlockIQ2_XXS& block, WholeBlock& whole) {
  whole.scale = whole_scale(block);
  for (int group = 0; group < 8; ++group) {
    const uint16_t* codes = block.codes + group * 4;
    const uint32_t indices = codes[0] | static_cast<uint32_t>(codes[1]) << 16;
    const uint32_t signs = codes[2] | static_cast<uint32_t>(codes[3]) << 16;
    set_group_of_32(whole, group, static_cast<int>(2 * (signs >> 28) + 1));
    for (int run = 0; run < 4; ++run) {
      write_signed_run(kIq2xxsGrid[indices >> 8 * run & 255], expand_signs(signs >> 7 * run & 127),
                       whole.codes + group * 32 + run * 8);
    }
  }
}

void decode_iq2_xxs(const std::byte* blocks, float* weights, int64_t count) {
  decode_whole<BlockIQ2_XXS>(blocks, weights, count);
}

}  // namespace wick
