#include "quant/iq2_s.h"

#include "quant/codebooks.h"
#include "tensor/half.h"

namespace wick {

float whole_scale(const BlockIQ2_S& block) { return f16_bits_to_f32(block.scale) / 8; }

void expand(const BlockIQ2_S& block, WholeBlock& whole) {
  whole.scale = whole_scale(block);
  for (int group = 0; group < 16; ++group) {
    whole.group_scales[group] = static_cast<int16_t>(2 * (block.group_scales[group / 2] >> group % 2 * 4 & 15) + 1);
  }
  for (int run = 0; run < 32; ++run) {
    const int index = block.index_low[run] | (block.index_high[run / 4] >> run % 4 * 2 & 3) << 8;
    write_signed_run(kIq2sGrid[static_cast<size_t>(index)], block.signs[run], whole.codes + run * 8);
  }
}

void decode_iq2_s(const std::byte* blocks, float* weights, int64_t count) {
  decode_whole<BlockIQ2_S>(blocks, weights, count);
}

}  // namespace wick
