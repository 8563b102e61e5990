#include "quant/ternary_quants.h"

#include <algorithm>

#include "tensor/half.h"

namespace wick {

namespace {

// Trit n of byte b is weight n * kBytes + b.
template <int kBytes, int kTrits>
void expand_trits(const uint8_t* bytes, int8_t* codes) {
  int power = 1;
  for (int n = 0; n < kTrits; ++n, power *= 3) {
    for (int b = 0; b < kBytes; ++b) {
      codes[n * kBytes + b] = static_cast<int8_t>((((bytes[b] * power) & 255) * 3 >> 8) - 1);
    }
  }
}

}  // namespace

float whole_scale(const BlockTQ1_0& block) { return f16_bits_to_f32(block.scale); }

void expand(const BlockTQ1_0& block, WholeBlock& whole) {
  whole.scale = whole_scale(block);
  std::fill_n(whole.group_scales, 16, int16_t{1});
  expand_trits<32, 5>(block.trits, whole.codes);
  expand_trits<16, 5>(block.trits + 32, whole.codes + 160);
  expand_trits<4, 4>(block.last_trits, whole.codes + 240);
}

void decode_tq1_0(const std::byte* blocks, float* weights, int64_t count) {
  decode_whole<BlockTQ1_0>(blocks, weights, count);
}

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
