#include "quant/group_quants.h"

#include "quant/blocks.h"
#include "quant/zero_search.h"
#include "tensor/half.h"

namespace wick {

void decode_group4(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockGroup4, 32>(blocks, weights, count, [](const BlockGroup4& block, float* out) {
    const float scale = f16_bits_to_f32(block.scale);
    const float zero = f16_bits_to_f32(block.zero);
    for (int i = 0; i < 16; ++i) {
      out[i] = scale * (static_cast<float>(block.nibbles[i] & 15) - zero);
      out[i + 16] = scale * (static_cast<float>(block.nibbles[i] >> 4) - zero);
    }
  });
}

void encode_group4(const float* weights, std::byte* blocks, int64_t count, const float* importance) {
  encode_blocks<BlockGroup4, 32>(
      weights, blocks, count, importance, [](const BlockInput<32>& input, BlockGroup4& block) {
        const ZeroFit fit = search_zero(input, 15, 16);
        const StoredScale scale = store_scale(fit.scale, input.unit);
        const IntegerLevels levels{-fit.zero, 15 - fit.zero};
        uint8_t quants[32];
        quantize_integers<32>(input.x, scale.value, levels, static_cast<int>(fit.zero), quants);
        block.scale = scale.bits;
        block.zero = f32_to_f16_bits(fit.zero);
        pack_nibbles(quants, block.nibbles);
      });
}

void decode_group8(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockGroup8, 32>(blocks, weights, count, [](const BlockGroup8& block, float* out) {
    const float scale = f16_bits_to_f32(block.scale);
    const float zero = f16_bits_to_f32(block.zero);
    for (int i = 0; i < 32; ++i) out[i] = scale * (static_cast<float>(block.quants[i]) - zero);
  });
}

void encode_group8(const float* weights, std::byte* blocks, int64_t count, const float* importance) {
  encode_blocks<BlockGroup8, 32>(
      weights, blocks, count, importance, [](const BlockInput<32>& input, BlockGroup8& block) {
        const ZeroFit fit = search_zero(input, 255, 256);
        const StoredScale scale = store_scale(fit.scale, input.unit);
        const IntegerLevels levels{-fit.zero, 255 - fit.zero};
        quantize_integers<32>(input.x, scale.value, levels, static_cast<int>(fit.zero), block.quants);
        block.scale = scale.bits;
        block.zero = f32_to_f16_bits(fit.zero);
      });
}

}  // namespace wick
