#include "quant/iq2_xs.h"

#include "quant/codebooks.h"
#include "tensor/half.h"

namespace wick {

float whole_scale(const BlockIQ2_XS& block) { return f16_bits_to_f32(block.scale) / 8; }

void expand(const BlockIQ2_XS& block, WholeBlock& whole) {
  whole.scale = whole_scale(block);
  for (int group = 0; group < 16; ++group) {
    whole.group_scales[group] = static_cast<int16_t>(2 * (block.group_scales[group / 2] >> group % 2 * 4 & 15) + 1);
  }
  for (int run = 0; run < 32; ++run) {
    const uint32_t code = block.codes[run];
    write_signed_run(kIq2xsGrid[code & 511], expand_signs(code >> 9), whole.codes + run * 8);
  }
}

void decode_iq2_xs(const std::byte* blocks, float* weights, int64_t count) {
  decode_whole<BlockIQ2_XS>(blocks, weights, count);
}

}  // namespace wick
