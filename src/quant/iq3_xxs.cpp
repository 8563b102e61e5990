#include "quant/iq3_xxs.h"

#include "quant/codebooks.h"
#include "tensor/half.h"

namespace wick {

float whole_scale(const BlockIQ3_XXS& block) { return f16_bits_to_f32(block.scale) / 4; }

void expand(const BlockIQ3_XXS& block, WholeBlock& whole) {
  whole.scale = whole_scale(block);
  for (int group = 0; group < 8; ++group) {
    uint32_t signs;
    std::memcpy(&signs, block.signs_and_scales + group * 4, sizeof(signs));
    set_group_of_32(whole, group, static_cast<int>(2 * (signs >> 28) + 1));
    for (int pair = 0; pair < 4; ++pair) {
      const uint8_t* index = block.index + group * 8 + pair * 2;
      const uint64_t codes = kIq3xxsGrid[index[0]] | static_cast<uint64_t>(kIq3xxsGrid[index[1]]) << 32;
      write_signed_run(codes, expand_signs(signs >> 7 * pair & 127), whole.codes + group * 32 + pair * 8);
    }
  }
}

void decode_iq3_xxs(const std::byte* blocks, float* weights, int64_t count) {
  decode_whole<BlockIQ3_XXS>(blocks, weights, count);
}

}  // namespace wick
