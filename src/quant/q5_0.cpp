#include "quant/q5_0.h"

#include "quant/blocks.h"
#include "quant/five_bits.h"
#include "quant/scale_search.h"
#include "tensor/half.h"

namespace wick {
namespace {

constexpr IntegerLevels kLevels{-16, 15};
constexpr ScalePlan kPlan{{15.0f, 0.3f, 7}, {14.2f, 0.3f, 7}};

}  // namespace

void decode_q5_0(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockQ5_0, 32>(blocks, weights, count, [](const BlockQ5_0& block, float* out) {
    const float scale = f16_bits_to_f32(block.scale);
    uint8_t quants[32];
    join_five_bits(block.nibbles, block.high_bits, quants);
    for (int i = 0; i < 32; ++i) out[i] = static_cast<float>(quants[i] - 16) * scale;
  });
}

void encode_q5_0(const float* weights, std::byte* blocks, int64_t count, const float* importance) {
  encode_blocks<BlockQ5_0, 32>(weights, blocks, count, importance, [](const BlockInput<32>& input, BlockQ5_0& block) {
    const ScaleFit fit = search_scale<32>(input.x, input.w, kLevels, kPlan);
    const StoredScale scale = store_scale(fit.scale, input.unit);
    uint8_t quants[32];
    quantize_integers<32>(input.x, scale.value, kLevels, 16, quants);
    block.scale = scale.bits;
    split_five_bits(quants, block.nibbles, block.high_bits);
  });
}

}  // namespace wick
