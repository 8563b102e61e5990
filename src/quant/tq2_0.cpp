#include "quant/tq2_0.h"

#include <algorithm>

#include "tensor/half.h"

namespace wick {

float whole_scale(const BlockTQ2_0& block) { return f16_bits_to_f32(block.scale); }

void expand(const BlockTQ2_0& block, WholeBlock& whole) {
  whole.scale = whole_scale(block);
  std::fill_n(whole.group_scales, 16, int16_t{1});
  for (int part = 0; part < 8; ++part) {
    const uint8_t* pairs = block.pairs + part / 4 * 32;
    const int shift = part % 4 * 2;
    for (int i = 0; i < 32; ++i) whole.codes[part * 32 + i] = static_cast<int8_t>((pairs[i] >> shift & 3) - 1);
  }
}

void decode_tq2_0(const std::byte* blocks, float* weights, int64_t count) {
  decode_whole<BlockTQ2_0>(blocks, weights, count);
}

}  // namespace wick
