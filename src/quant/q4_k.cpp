#include "quant/q4_k.h"

#include "quant/blocks.h"
#include "quant/group_scales.h"
#include "tensor/half.h"

namespace wick {

void decode_q4_k(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockQ4_K, 256>(blocks, weights, count, [](const BlockQ4_K& block, float* out) {
    const float scale = f16_bits_to_f32(block.scale);
    const float min_scale = f16_bits_to_f32(block.min_scale);
    const GroupScales groups = unpack_group_scales(block.group_scales);
    for (int group = 0; group < 8; ++group) {
      const float step = scale * static_cast<float>(groups.scales[group]);
      const float min = min_scale * static_cast<float>(groups.mins[group]);
      const uint8_t* nibbles = block.nibbles + group / 2 * 32;
      const int shift = group % 2 * 4;
      for (int i = 0; i < 32; ++i) out[group * 32 + i] = step * static_cast<float>(nibbles[i] >> shift & 15) - min;
    }
  });
}

}  // namespace wick
