#include "quant/legacy_quants.h"

#include "quant/affine_search.h"
#include "quant/blocks.h"
#include "quant/five_bits.h"
#include "quant/scale_search.h"
#include "tensor/half.h"

namespace wick {

namespace {

constexpr IntegerLevels kQ4_0Levels{-8, 7};
constexpr ScalePlan kQ4_0Plan{{7.0f, 0.3f, 9}, {6.2f, 0.3f, 9}};

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
    const ScaleFit fit = search_scale<32>(input.x, input.w, kQ4_0Levels, kQ4_0Plan);
    const StoredScale scale = store_scale(fit.scale, input.unit);
    uint8_t quants[32];
    quantize_integers<32>(input.x, scale.value, kQ4_0Levels, 8, quants);
    block.scale = scale.bits;
    pack_nibbles(quants, block.nibbles);
  });
}

namespace {

constexpr float kQ4_1Top = 15;

}  // namespace

void decode_q4_1(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockQ4_1, 32>(blocks, weights, count, [](const BlockQ4_1& block, float* out) {
    const float scale = f16_bits_to_f32(block.scale);
    const float min = f16_bits_to_f32(block.min);
    for (int i = 0; i < 16; ++i) {
      out[i] = static_cast<float>(block.nibbles[i] & 15) * scale + min;
      out[i + 16] = static_cast<float>(block.nibbles[i] >> 4) * scale + min;
    }
  });
}

void encode_q4_1(const float* weights, std::byte* blocks, int64_t count, const float* importance) {
  encode_blocks<BlockQ4_1, 32>(weights, blocks, count, importance, [](const BlockInput<32>& input, BlockQ4_1& block) {
    const AffineFit fit = search_affine<32>(input.x, input.w, kQ4_1Top, kNoLimit, {kQ4_1Top - 0.8f, 0.4f, 7});
    const StoredScale scale = store_scale(fit.scale, input.unit);
    const StoredScale min = store_scale(fit.offset, input.unit);
    uint8_t quants[32];
    quantize_affine<32>(input.x, scale.value, min.value, kQ4_1Top, quants);
    block.scale = scale.bits;
    block.min = min.bits;
    pack_nibbles(quants, block.nibbles);
  });
}

namespace {

constexpr IntegerLevels kQ5_0Levels{-16, 15};
constexpr ScalePlan kQ5_0Plan{{15.0f, 0.3f, 7}, {14.2f, 0.3f, 7}};

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
    const ScaleFit fit = search_scale<32>(input.x, input.w, kQ5_0Levels, kQ5_0Plan);
    const StoredScale scale = store_scale(fit.scale, input.unit);
    uint8_t quants[32];
    quantize_integers<32>(input.x, scale.value, kQ5_0Levels, 16, quants);
    block.scale = scale.bits;
    split_five_bits(quants, block.nibbles, block.high_bits);
  });
}

namespace {

constexpr float kQ5_1Top = 31;

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
    const AffineFit fit = search_affine<32>(input.x, input.w, kQ5_1Top, kNoLimit, {kQ5_1Top - 0.8f, 0.4f, 7});
    const StoredScale scale = store_scale(fit.scale, input.unit);
    const StoredScale min = store_scale(fit.offset, input.unit);
    uint8_t quants[32];
    quantize_affine<32>(input.x, scale.value, min.value, kQ5_1Top, quants);
    block.scale = scale.bits;
    block.min = min.bits;
    split_five_bits(quants, block.nibbles, block.high_bits);
  });
}

namespace {

constexpr IntegerLevels kQ8_0Levels{-127, 127};
constexpr ScalePlan kQ8_0Plan{{}, {127.0f, 0.45f, 2}, 1};

}  // namespace

void decode_q8_0(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockQ8_0, 32>(blocks, weights, count, [](const BlockQ8_0& block, float* out) {
    const float scale = f16_bits_to_f32(block.scale);
    for (int i = 0; i < 32; ++i) out[i] = static_cast<float>(block.quants[i]) * scale;
  });
}

void encode_q8_0(const float* weights, std::byte* blocks, int64_t count, const float* importance) {
  encode_blocks<BlockQ8_0, 32>(weights, blocks, count, importance, [](const BlockInput<32>& input, BlockQ8_0& block) {
    const ScaleFit fit = search_scale<32>(input.x, input.w, kQ8_0Levels, kQ8_0Plan);
    const StoredScale scale = store_scale(fit.scale, input.unit);
    block.scale = scale.bits;
    quantize_integers<32>(input.x, scale.value, kQ8_0Levels, 0, block.quants);
  });
}

}  // namespace wick
