#include "quant/q2_k.h"

#include "quant/blocks.h"
#include "quant/k_affine_search.h"
#include "tensor/half.h"

namespace wick {

void decode_q2_k(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockQ2_K, 256>(blocks, weights, count, [](const BlockQ2_K& block, float* out) {
    const float scale = f16_bits_to_f32(block.scale);
    const float min_scale = f16_bits_to_f32(block.min_scale);
    for (int group = 0; group < 16; ++group) {
      const float step = scale * static_cast<float>(block.group_scales[group] & 15);
      const float min = min_scale * static_cast<float>(block.group_scales[group] >> 4);
      const uint8_t* quants = block.quants + group / 8 * 32 + group % 2 * 16;
      const int shift = group % 8 / 2 * 2;
      for (int i = 0; i < 16; ++i) out[group * 16 + i] = step * static_cast<float>(quants[i] >> shift & 3) - min;
    }
  });
}

void encode_q2_k(const float* weights, std::byte* blocks, int64_t count, const float* importance) {
  encode_blocks<BlockQ2_K, 256>(weights, blocks, count, importance, [](const BlockInput<256>& input, BlockQ2_K& block) {
    const KAffine<16> fit = search_k_affine<16>(input, 3, 15, {2.5f, 0.3f, 7});
    block = {};
    block.scale = fit.scale.bits;
    block.min_scale = fit.min_scale.bits;
    for (int group = 0; group < 16; ++group) {
      block.group_scales[group] = static_cast<uint8_t>(fit.scales[group] | fit.mins[group] << 4);
      uint8_t quants[16];
      quantize_affine<16>(input.x + group * 16, fit.step(group), -fit.min(group), 3, quants);
      uint8_t* out = block.quants + group / 8 * 32 + group % 2 * 16;
      const int shift = group % 8 / 2 * 2;
      for (int i = 0; i < 16; ++i) out[i] = static_cast<uint8_t>(out[i] | quants[i] << shift);
    }
  });
}

}  // namespace wick
