#include "quant/q4_0.h"

#include "quant/blocks.h"
#include "quant/scale_search.h"
#include "tensor/half.h"

namespace wick {
namespace {

constexpr IntegerLevels kLevels{-8, 7};
constexpr ScalePlan kPlan{{7.0f, 0.3f, 9}, {6.2f, 0.3f, 9}};

}  // namespace

void decode_q4_0(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockQ4_0, 32>(blocks, weights, count, [](const BlockQ4_0& block, float* out) {
    const float scale = f16_bits_to_f32(block.scale);
    for (int i = 0; i < 16; ++i) {
      out[i] = static_cast<float>((block.nibbles[i] & 15) - 8) * scale;
      out[i + 16] = static_cast<float>((block.nibbles[i] >> 4) - 8) * scale;
    }
  });
}

void encode_q4_0(const float* weights, std::byte* blocks, int64_t count, const float* importance) {
  encode_blocks<BlockQ4_0, 32>(weights, blocks, count, importance, [](const BlockInput<32>& input, BlockQ4_0& block) {
    const ScaleFit fit = search_scale<32>(input.x, input.w, kLevels, kPlan);
    const StoredScale scale = store_scale(fit.scale, input.unit);
    uint8_t quants[32];
    quantize_integers<32>(input.x, scale.value, kLevels, 8, quants);
    block.scale = scale.bits;
    pack_nibbles(quants, block.nibbles);
  });
}

}  // namespace wick
