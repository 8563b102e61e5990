#include "quant/nf4.h"

#include "quant/blocks.h"

namespace wick {

void decode_nf4(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockNF4, 64>(blocks, weights, count, [](const BlockNF4& block, float* out) {
    float levels[16];
    for (int i = 0; i < 16; ++i) levels[i] = nf4_value(i) * block.scale;
    for (int i = 0; i < 32; ++i) {
      out[i] = levels[block.nibbles[i] & 15];
      out[i + 32] = levels[block.nibbles[i] >> 4];
    }
  });
}

}  // namespace wick
