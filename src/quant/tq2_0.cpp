#include "quant/tq2_0.h"

#include "quant/blocks.h"
#include "tensor/half.h"

namespace wick {

void decode_tq2_0(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockTQ2_0, 256>(blocks, weights, count, [](const BlockTQ2_0& block, float* out) {
    const float scale = f16_bits_to_f32(block.scale);
    for (int part = 0; part < 8; ++part) {
      const uint8_t* pairs = block.pairs + part / 4 * 32;
      const int shift = part % 4 * 2;
      for (int i = 0; i < 32; ++i) out[part * 32 + i] = static_cast<float>((pairs[i] >> shift & 3) - 1) * scale;
    }
  });
}

}  // namespace wick
