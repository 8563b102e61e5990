#include "quant/iq4_xs.h"

#include "quant/blocks.h"
#include "quant/iq4_levels.h"
#include "quant/iq4_nl.h"
#include "quant/k_scale_search.h"
#include "tensor/half.h"

namespace wick {
namespace {

constexpr ScalePlan kPlan{{108, 8, 6}, {94, 8, 6}};

}  // namespace

void decode_iq4_xs(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockIQ4_XS, 256>(blocks, weights, count, [](const BlockIQ4_XS& block, float* out) {
    const float scale = f16_bits_to_f32(block.scale);
    for (int group = 0; group < 8; ++group) {
      const int low = block.scales_low[group / 2] >> group % 2 * 4 & 15;
      const int high = block.scales_high >> 2 * group & 3;
      const float step = scale * static_cast<float>((low | high << 4) - 32);
      float levels[16];
      for (int i = 0; i < 16; ++i) levels[i] = step * static_cast<float>(kIq4Values[i]);
      const uint8_t* nibbles = block.nibbles + group * 16;
      for (int i = 0; i < 16; ++i) {
        out[group * 32 + i] = levels[nibbles[i] & 15];
        out[group * 32 + 16 + i] = levels[nibbles[i] >> 4];
      }
    }
  });
}

void encode_iq4_xs(const float* weights, std::byte* blocks, int64_t count, const float* importance) {
  encode_blocks<BlockIQ4_XS, 256>(
      weights, blocks, count, importance, [](const BlockInput<256>& input, BlockIQ4_XS& block) {
        const KScales<8> fit = search_k_scales<8>(input, Iq4Levels{}, kPlan, {-32, 31});
        block = {};
        block.scale = fit.scale.bits;
        for (int group = 0; group < 8; ++group) {
          const int index = fit.index[group] + 32;
          block.scales_low[group / 2] =
              static_cast<uint8_t>(block.scales_low[group / 2] | (index & 15) << group % 2 * 4);
          block.scales_high = static_cast<uint16_t>(block.scales_high | index >> 4 << 2 * group);
          quantize_iq4(input.x + group * 32, fit.step(group), block.nibbles + group * 16);
        }
      });
}

}  // namespace wick
