#include "quant/q3_k.h"

#include "quant/blocks.h"
#include "quant/group_scales.h"
#include "quant/k_scale_search.h"
#include "tensor/half.h"

namespace wick {
namespace {

constexpr IntegerLevels kLevels{-4, 3};
constexpr ScalePlan kPlan{{3.1f, 0.3f, 7}, {2.3f, 0.3f, 7}};

}  // namespace

void decode_q3_k(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockQ3_K, 256>(blocks, weights, count, [](const BlockQ3_K& block, float* out) {
    const float scale = f16_bits_to_f32(block.scale);
    uint8_t group_scales[16];
    unpack_q3_k_scales(block.group_scales, group_scales);
    for (int group = 0; group < 16; ++group) {
      const float step = scale * static_cast<float>(group_scales[group] - 32);
      const uint8_t* low = block.low_pairs + group / 8 * 32 + group % 2 * 16;
      const uint8_t* high = block.high_bits + group % 2 * 16;
      const int low_shift = group % 8 / 2 * 2;
      const int high_shift = group / 2;
      for (int i = 0; i < 16; ++i) {
        const int quant = (low[i] >> low_shift & 3) | (high[i] >> high_shift & 1) << 2;
        out[group * 16 + i] = step * static_cast<float>(quant - 4);
      }
    }
  });
}

void encode_q3_k(const float* weights, std::byte* blocks, int64_t count, const float* importance) {
  encode_blocks<BlockQ3_K, 256>(weights, blocks, count, importance, [](const BlockInput<256>& input, BlockQ3_K& block) {
    const KScales<16> fit = search_k_scales<16>(input, kLevels, kPlan, {-32, 31});
    block = {};
    block.scale = fit.scale.bits;
    uint8_t group_scales[16];
    for (int group = 0; group < 16; ++group) {
      group_scales[group] = static_cast<uint8_t>(fit.index[group] + 32);
      uint8_t quants[16];
      quantize_integers<16>(input.x + group * 16, fit.step(group), kLevels, 4, quants);
      uint8_t* low = block.low_pairs + group / 8 * 32 + group % 2 * 16;
      uint8_t* high = block.high_bits + group % 2 * 16;
      const int low_shift = group % 8 / 2 * 2;
      const int high_shift = group / 2;
      for (int i = 0; i < 16; ++i) {
        low[i] = static_cast<uint8_t>(low[i] | (quants[i] & 3) << low_shift);
        high[i] = static_cast<uint8_t>(high[i] | quants[i] >> 2 << high_shift);
      }
    }
    pack_q3_k_scales(group_scales, block.group_scales);
  });
}

}  // namespace wick
