#include "quant/tq1_0.h"

#include "quant/blocks.h"
#include "tensor/half.h"

namespace wick {
namespace {

// Trit n of byte b is weight n * kBytes + b.
template <int kBytes, int kTrits>
void decode_trits(const uint8_t* bytes, float scale, float* out) {
  int power = 1;
  for (int n = 0; n < kTrits; ++n, power *= 3) {
    for (int b = 0; b < kBytes; ++b) {
      const int trit = ((bytes[b] * power) & 255) * 3 >> 8;
      out[n * kBytes + b] = static_cast<float>(trit - 1) * scale;
    }
  }
}

}  // namespace

void decode_tq1_0(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockTQ1_0, 256>(blocks, weights, count, [](const BlockTQ1_0& block, float* out) {
    const float scale = f16_bits_to_f32(block.scale);
    decode_trits<32, 5>(block.trits, scale, out);
    decode_trits<16, 5>(block.trits + 32, scale, out + 160);
    decode_trits<4, 4>(block.last_trits, scale, out + 240);
  });
}

}  // namespace wick
