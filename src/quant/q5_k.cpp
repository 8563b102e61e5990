#include "quant/q5_k.h"

#include "quant/blocks.h"
#include "quant/group_scales.h"
#include "quant/k_affine_search.h"
#include "tensor/half.h"

namespace wick {

void decode_q5_k(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockQ5_K, 256>(blocks, weights, count, [](const BlockQ5_K& block, float* out) {
    const float scale = f16_bits_to_f32(block.scale);
    const float min_scale = f16_bits_to_f32(block.min_scale);
    const GroupScales groups = unpack_group_scales(block.group_scales);
    for (int group = 0; group < 8; ++group) {
      const float step = scale * static_cast<float>(groups.scales[group]);
      const float min = min_scale * static_cast<float>(groups.mins[group]);
      const uint8_t* nibbles = block.nibbles + group / 2 * 32;
      const int shift = group % 2 * 4;
      for (int i = 0; i < 32; ++i) {
        const int quant = (nibbles[i] >> shift & 15) | (block.high_bits[i] >> group & 1) << 4;
        out[group * 32 + i] = step * static_cast<float>(quant) - min;
      }
    }
  });
}

void encode_q5_k(const float* weights, std::byte* blocks, int64_t count, const float* importance) {
  encode_blocks<BlockQ5_K, 256>(weights, blocks, count, importance, [](const BlockInput<256>& input, BlockQ5_K& block) {
    const KAffine<8> fit = search_k_affine<8>(input, 31, 63, {30.2f, 0.45f, 5});
    block = {};
    block.scale = fit.scale.bits;
    block.min_scale = fit.min_scale.bits;
    GroupScales groups;
    for (int group = 0; group < 8; ++group) {
      groups.scales[group] = fit.scales[group];
      groups.mins[group] = fit.mins[group];
      uint8_t quants[32];
      quantize_affine<32>(input.x + group * 32, fit.step(group), -fit.min(group), 31, quants);
      uint8_t* nibbles = block.nibbles + group / 2 * 32;
      for (int i = 0; i < 32; ++i) {
        nibbles[i] = static_cast<uint8_t>(nibbles[i] | (quants[i] & 15) << group % 2 * 4);
        block.high_bits[i] = static_cast<uint8_t>(block.high_bits[i] | quants[i] >> 4 << group);
      }
    }
    pack_group_scales(groups, block.group_scales);
  });
}

}  // namespace wick
