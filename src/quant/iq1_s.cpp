#include "quant/iq1_s.h"

#include "quant/codebooks.h"
#include "tensor/half.h"

namespace wick {

float whole_scale(const BlockIQ1_S& block) { return f16_bits_to_f32(block.scale) * kIq1Shift; }

void expand(const BlockIQ1_S& block, WholeBlock& whole) {
  whole.scale = whole_scale(block);
  for (int group = 0; group < 8; ++group) {
    const uint32_t high = block.index_high[group];
    set_group_of_32(whole, group, static_cast<int>(2 * (high >> 12 & 7) + 1));
    for (int run = 0; run < 4; ++run) {
      const uint32_t index = block.index_low[group * 4 + run] | (high >> 3 * run & 7) << 8;
      write_shifted_run(kIq1Grid[index], (high & 0x8000) != 0, whole.codes + group * 32 + run * 8);
    }
  }
}

void decode_iq1_s(const std::byte* blocks, float* weights, int64_t count) {
  decode_whole<BlockIQ1_S>(blocks, weights, count);
}

}  // namespace wick
