#include "quant/q8_k.h"

#include "quant/blocks.h"
#include "quant/scale_search.h"

namespace wick {
namespace {

constexpr IntegerLevels kLevels{-127, 127};
constexpr ScalePlan kPlan{{}, {126.6f, 0.4f, 6}};

}  // namespace

void decode_q8_k(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockQ8_K, 256>(blocks, weights, count, [](const BlockQ8_K& block, float* out) {
    const float scale = block.scale;
    for (int i = 0; i < 256; ++i) out[i] = scale * static_cast<float>(block.quants[i]);
  });
}

void encode_q8_k(const float* weights, std::byte* blocks, int64_t count, const float* importance) {
  encode_blocks<BlockQ8_K, 256>(weights, blocks, count, importance, [](const BlockInput<256>& input, BlockQ8_K& block) {
    const ScaleFit fit = search_scale<256>(input.x, input.w, kLevels, kPlan);
    block.scale = fit.scale * input.unit;
    quantize_integers<256>(input.x, block.scale / input.unit, kLevels, 0, block.quants);
    for (int group = 0; group < 16; ++group) {
      int sum = 0;
      for (int i = 0; i < 16; ++i) sum += block.quants[group * 16 + i];
      block.sums[group] = static_cast<int16_t>(sum);
    }
  });
}

}  // namespace wick
