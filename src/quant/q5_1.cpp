#include "quant/q5_1.h"

#include "quant/affine_search.h"
#include "quant/blocks.h"
#include "quant/five_bits.h"
#include "tensor/half.h"

namespace wick {
namespace {

constexpr float kTop = 31;

}  // namespace

void decode_q5_1(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockQ5_1, 32>(blocks, weights, count, [](const BlockQ5_1& block, float* out) {
    const float scale = f16_bits_to_f32(block.scale);
    const float min = f16_bits_to_f32(block.min);
    uint8_t quants[32];
    join_five_bits(block.nibbles, block.high_bits, quants);
    for (int i = 0; i < 32; ++i) out[i] = static_cast<float>(quants[i]) * scale + min;
  });
}

void encode_q5_1(const float* weights, std::byte* blocks, int64_t count, const float* importance) {
  encode_blocks<BlockQ5_1, 32>(weights, blocks, count, importance, [](const BlockInput<32>& input, BlockQ5_1& block) {
    const AffineFit fit = search_affine<32>(input.x, input.w, kTop, kNoLimit, {kTop - 0.8f, 0.4f, 7});
    const StoredScale scale = store_scale(fit.scale, input.unit);
    const StoredScale min = store_scale(fit.offset, input.unit);
    uint8_t quants[32];
    quantize_affine<32>(input.x, scale.value, min.value, kTop, quants);
    block.scale = scale.bits;
    block.min = min.bits;
    split_five_bits(quants, block.nibbles, block.high_bits);
  });
}

}  // namespace wick
