#include "quant/iq4_nl.h"

#include "quant/blocks.h"
#include "quant/iq4_levels.h"
#include "quant/scale_search.h"
#include "tensor/half.h"

namespace wick {
namespace {

constexpr ScalePlan kPlan{{108, 8, 6}, {94, 8, 6}};

}  // namespace

void decode_iq4_nl(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockIQ4_NL, 32>(blocks, weights, count, [](const BlockIQ4_NL& block, float* out) {
    const float scale = f16_bits_to_f32(block.scale);
    float levels[16];
    for (int i = 0; i < 16; ++i) levels[i] = scale * static_cast<float>(kIq4Values[i]);
    for (int i = 0; i < 16; ++i) {
      out[i] = levels[block.nibbles[i] & 15];
      out[i + 16] = levels[block.nibbles[i] >> 4];
    }
  });
}

void encode_iq4_nl(const float* weights, std::byte* blocks, int64_t count, const float* importance) {
  encode_blocks<BlockIQ4_NL, 32>(weights, blocks, count, importance,
                                 [](const BlockInput<32>& input, BlockIQ4_NL& block) {
                                   const ScaleFit fit = search_scale<32>(input.x, input.w, Iq4Levels{}, kPlan);
                                   const StoredScale scale = store_scale(fit.scale, input.unit);
                                   block.scale = scale.bits;
                                   quantize_iq4(input.x, scale.value, block.nibbles);
                                 });
}

}  // namespace wick
