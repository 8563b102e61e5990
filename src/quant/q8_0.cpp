#include "quant/q8_0.h"

#include "quant/blocks.h"
#include "quant/scale_search.h"
#include "tensor/half.h"

namespace wick {
namespace {

constexpr IntegerLevels kLevels{-127, 127};
constexpr ScalePlan kPlan{{}, {127.0f, 0.45f, 2}, 1};

}  // namespace

void decode_q8_0(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockQ8_0, 32>(blocks, weights, count, [](const BlockQ8_0& block, float* out) {
    const float scale = f16_bits_to_f32(block.scale);
    for (int i = 0; i < 32; ++i) out[i] = static_cast<float>(block.quants[i]) * scale;
  });
}

void encode_q8_0(const float* weights, std::byte* blocks, int64_t count, const float* importance) {
  encode_blocks<BlockQ8_0, 32>(weights, blocks, count, importance, [](const BlockInput<32>& input, BlockQ8_0& block) {
    const ScaleFit fit = search_scale<32>(input.x, input.w, kLevels, kPlan);
    const StoredScale scale = store_scale(fit.scale, input.unit);
    block.scale = scale.bits;
    quantize_integers<32>(input.x, scale.value, kLevels, 0, block.quants);
  });
}

}  // namespace wick
