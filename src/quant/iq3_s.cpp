#include "quant/iq3_s.h"

#include "quant/codebooks.h"
#include "tensor/half.h"

namespace wick {

float whole_scale(const BlockIQ3_S& block) { return f16_bits_to_f32(block.scale); }

void expand(const BlockIQ3_S& block, WholeBlock& whole) {
  whole.scale = whole_scale(block);
  for (int group = 0; group < 8; ++group) {
    set_group_of_32(whole, group, 2 * (block.group_scales[group / 2] >> group % 2 * 4 & 15) + 1);
    for (int pair = 0; pair < 4; ++pair) {
      const uint8_t* low = block.index_low + group * 8 + pair * 2;
      const uint32_t high = block.index_high[group] >> pair * 2;
      const uint64_t first = kIq3sGrid[low[0] | (high & 1) << 8];
      const uint64_t second = kIq3sGrid[low[1] | (high >> 1 & 1) << 8];
      write_signed_run(first | second << 32, block.signs[group * 4 + pair], whole.codes + group * 32 + pair * 8);
    }
  }
}

void decode_iq3_s(const std::byte* blocks, float* weights, int64_t count) {
  decode_whole<BlockIQ3_S>(blocks, weights, count);
}

}  // namespace wick
