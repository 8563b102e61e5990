#include "quant/q6_k.h"

#include "quant/blocks.h"
#include "quant/k_scale_search.h"
#include "tensor/half.h"

namespace wick {
namespace {

constexpr IntegerLevels kLevels{-32, 31};
constexpr ScalePlan kPlan{{31.1f, 0.3f, 5}, {30.2f, 0.3f, 5}};

}  // namespace

void decode_q6_k(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockQ6_K, 256>(blocks, weights, count, [](const BlockQ6_K& block, float* out) {
    const float scale = f16_bits_to_f32(block.scale);
    for (int group = 0; group < 16; ++group) {
      const float step = scale * static_cast<float>(block.group_scales[group]);
      const uint8_t* nibbles = block.nibbles + group / 8 * 64 + group % 4 * 16;
      const uint8_t* high = block.high_pairs + group / 8 * 32 + group % 2 * 16;
      const int nibble_shift = group % 8 / 4 * 4;
      const int high_shift = group % 8 / 2 * 2;
      for (int i = 0; i < 16; ++i) {
        const int quant = (nibbles[i] >> nibble_shift & 15) | (high[i] >> high_shift & 3) << 4;
        out[group * 16 + i] = step * static_cast<float>(quant - 32);
      }
    }
  });
}

void encode_q6_k(const float* weights, std::byte* blocks, int64_t count, const float* importance) {
  encode_blocks<BlockQ6_K, 256>(weights, blocks, count, importance, [](const BlockInput<256>& input, BlockQ6_K& block) {
    const KScales<16> fit = search_k_scales<16>(input, kLevels, kPlan, {-128, 127});
    block = {};
    block.scale = fit.scale.bits;
    for (int group = 0; group < 16; ++group) {
      block.group_scales[group] = static_cast<int8_t>(fit.index[group]);
      uint8_t quants[16];
      quantize_integers<16>(input.x + group * 16, fit.step(group), kLevels, 32, quants);
      uint8_t* nibbles = block.nibbles + group / 8 * 64 + group % 4 * 16;
      uint8_t* high = block.high_pairs + group / 8 * 32 + group % 2 * 16;
      const int nibble_shift = group % 8 / 4 * 4;
      const int high_shift = group % 8 / 2 * 2;
      for (int i = 0; i < 16; ++i) {
        nibbles[i] = static_cast<uint8_t>(nibbles[i] | (quants[i] & 15) << nibble_shift);
        high[i] = static_cast<uint8_t>(high[i] | quants[i] >> 4 << high_shift);
      }
    }
  });
}

}  // namespace wick
