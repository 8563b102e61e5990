#include "quant/iq1_m.h"

#include "quant/codebooks.h"
#include "tensor/half.h"

namespace wick {

float whole_scale(const BlockIQ1_M& block) {
  uint16_t words[4];
  std::memcpy(words, block.scales, sizeof(words));
  uint32_t bits = 0;
  for (int i = 0; i < 4; ++i) bits |= static_cast<uint32_t>(words[i] >> 12) << 4 * i;
  return f16_bits_to_f32(static_cast<uint16_t>(bits)) * kIq1Shift;
}

void expand(const BlockIQ1_M& block, WholeBlock& whole) {
  whole.scale = whole_scale(block);
  uint16_t words[4];
  std::memcpy(words, block.scales, sizeof(words));
  for (int group = 0; group < 16; ++group) {
    whole.group_scales[group] = static_cast<int16_t>(2 * (words[group / 4] >> 3 * (group % 4) & 7) + 1);
  }
  for (int run = 0; run < 32; ++run) {
    const uint32_t high = block.index_high[run / 2] >> run % 2 * 4;
    write_shifted_run(kIq1Grid[block.index_low[run] | (high & 7) << 8], (high & 8) != 0, whole.codes + run * 8);
  }
}

void decode_iq1_m(const std::byte* blocks, float* weights, int64_t count) {
  decode_whole<BlockIQ1_M>(blocks, weights, count);
}

}  // namespace wick
