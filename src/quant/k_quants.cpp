#include "quant/k_quants.h"

#include "quant/blocks.h"
#include "quant/group_quants.h"
#include "quant/k_affine_search.h"
#include "quant/k_scale_search.h"
#include "quant/scale_search.h"
#include "tensor/half.h"

namespace wick {

void decode_q2_k(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockQ2_K, 256>(blocks, weights, count, [](const BlockQ2_K& block, float* out) {
    const float scale = f16_bits_to_f32(block.scale);
    const float min_scale = f16_bits_to_f32(block.min_scale);
    for (int group = 0; group < 16; ++group) {
      const float step = scale * static_cast<float>(block.group_scales[group] & 15);
      const float min = min_scale * static_cast<float>(block.group_scales[group] >> 4);
      const uint8_t* quants = block.quants + group / 8 * 32 + group % 2 * 16;
      const int shift = group % 8 / 2 * 2;
      for (int i = 0; i < 16; ++i) out[group * 16 + i] = step * static_cast<float>(quants[i] >> shift & 3) - min;
    }
  });
}

void encode_q2_k(const float* weights, std::byte* blocks, int64_t count, const float* importance) {
  encode_blocks<BlockQ2_K, 256>(weights, blocks, count, importance, [](const BlockInput<256>& input, BlockQ2_K& block) {
    const KAffine<16> fit = search_k_affine<16>(input, 3, 15, {2.5f, 0.3f, 7});
    block = {};
    block.scale = fit.scale.bits;
    block.min_scale = fit.min_scale.bits;
    for (int group = 0; group < 16; ++group) {
      block.group_scales[group] = static_cast<uint8_t>(fit.scales[group] | fit.mins[group] << 4);
      uint8_t quants[16];
      quantize_affine<16>(input.x + group * 16, fit.step(group), -fit.min(group), 3, quants);
      uint8_t* out = block.quants + group / 8 * 32 + group % 2 * 16;
      const int shift = group % 8 / 2 * 2;
      for (int i = 0; i < 16; ++i) out[i] = static_cast<uint8_t>(out[i] | quants[i] << shift);
    }
  });
}

namespace {

constexpr IntegerLevels kQ3_KLevels{-4, 3};
constexpr ScalePlan kQ3_KPlan{{3.1f, 0.3f, 7}, {2.3f, 0.3f, 7}};

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
    const KScales<16> fit = search_k_scales<16>(input, kQ3_KLevels, kQ3_KPlan, {-32, 31});
    block = {};
    block.scale = fit.scale.bits;
    uint8_t group_scales[16];
    for (int group = 0; group < 16; ++group) {
      group_scales[group] = static_cast<uint8_t>(fit.index[group] + 32);
      uint8_t quants[16];
      quantize_integers<16>(input.x + group * 16, fit.step(group), kQ3_KLevels, 4, quants);
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

void decode_q4_k(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockQ4_K, 256>(blocks, weights, count, [](const BlockQ4_K& block, float* out) {
    const float scale = f16_bits_to_f32(block.scale);
    const float min_scale = f16_bits_to_f32(block.min_scale);
    const GroupScales groups = unpack_group_scales(block.group_scales);
    for (int group = 0; group < 8; ++group) {
      const float step = scale * static_cast<float>(groups.scales[group]);
      const float min = min_scale * static_cast<float>(groups.mins[group]);
      const uint8_t* nibbles = block.nibbles + group / 2 * 32;
      const int shift = group % 2 * 4;
      for (int i = 0; i < 32; ++i) out[group * 32 + i] = step * static_cast<float>(nibbles[i] >> shift & 15) - min;
    }
  });
}

void encode_q4_k(const float* weights, std::byte* blocks, int64_t count, const float* importance) {
  encode_blocks<BlockQ4_K, 256>(weights, blocks, count, importance, [](const BlockInput<256>& input, BlockQ4_K& block) {
    const KAffine<8> fit = search_k_affine<8>(input, 15, 63, {14.2f, 0.45f, 6});
    block.scale = fit.scale.bits;
    block.min_scale = fit.min_scale.bits;
    uint8_t quants[256];
    GroupScales groups;
    for (int group = 0; group < 8; ++group) {
      groups.scales[group] = fit.scales[group];
      groups.mins[group] = fit.mins[group];
      quantize_affine<32>(input.x + group * 32, fit.step(group), -fit.min(group), 15, quants + group * 32);
    }
    pack_group_scales(groups, block.group_scales);
    for (int i = 0; i < 128; ++i) {
      const uint8_t* pair = quants + i / 32 * 64 + i % 32;
      block.nibbles[i] = static_cast<uint8_t>(pair[0] | pair[32] << 4);
    }
  });
}

void decode_q5_k(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockQ5_K, 256>(blocks, weights, count, [](const BlockQ5_K& block, float* out) {
    const float scale = f16_bits_to_f32(block.scale);
    const float min_scale = f16_bits_to_f32(block.min_scale);
    const GroupScales groups = unpack_group_scales(block.group_scales);
    for (int group = 0; group < 8; ++group) {
      const float step = scale * static_cast<float>(groups.scales[group]);
      const float min = min_scale * static_cast<float>(groups.mins[group]);
      const uint8_t* nibbles = block.nibbles + group / 2 * 32;
      const int shift = group % 2 * 4;
      for (int i = 0; i < 32; ++i) {
        const int quant = (nibbles[i] >> shift & 15) | (block.high_bits[i] >> group & 1) << 4;
        out[group * 32 + i] = step * static_cast<float>(quant) - min;
      }
    }
  });
}

void encode_q5_k(const float* weights, std::byte* blocks, int64_t count, const float* importance) {
  encode_blocks<BlockQ5_K, 256>(weights, blocks, count, importance, [](const BlockInput<256>& input, BlockQ5_K& block) {
    const KAffine<8> fit = search_k_affine<8>(input, 31, 63, {30.2f, 0.45f, 5});
    block = {};
    block.scale = fit.scale.bits;
    block.min_scale = fit.min_scale.bits;
    GroupScales groups;
    for (int group = 0; group < 8; ++group) {
      groups.scales[group] = fit.scales[group];
      groups.mins[group] = fit.mins[group];
      uint8_t quants[32];
      quantize_affine<32>(input.x + group * 32, fit.step(group), -fit.min(group), 31, quants);
      uint8_t* nibbles = block.nibbles + group / 2 * 32;
      for (int i = 0; i < 32; ++i) {
        nibbles[i] = static_cast<uint8_t>(nibbles[i] | (quants[i] & 15) << group % 2 * 4);
        block.high_bits[i] = static_cast<uint8_t>(block.high_bits[i] | quants[i] >> 4 << group);
      }
    }
    pack_group_scales(groups, block.group_scales);
  });
}

namespace {

constexpr IntegerLevels kQ6_KLevels{-32, 31};
constexpr ScalePlan kQ6_KPlan{{31.1f, 0.3f, 5}, {30.2f, 0.3f, 5}};

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
    const KScales<16> fit = search_k_scales<16>(input, kQ6_KLevels, kQ6_KPlan, {-128, 127});
    block = {};
    block.scale = fit.scale.bits;
    for (int group = 0; group < 16; ++group) {
      block.group_scales[group] = static_cast<int8_t>(fit.index[group]);
      uint8_t quants[16];
      quantize_integers<16>(input.x + group * 16, fit.step(group), kQ6_KLevels, 32, quants);
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

namespace {

constexpr IntegerLevels kQ8_KLevels{-127, 127};
constexpr ScalePlan kQ8_KPlan{{}, {126.6f, 0.4f, 6}};

}  // namespace

void decode_q8_k(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockQ8_K, 256>(blocks, weights, count, [](const BlockQ8_K& block, float* out) {
    const float scale = block.scale;
    for (int i = 0; i < 256; ++i) out[i] = scale * static_cast<float>(block.quants[i]);
  });
}

void encode_q8_k(const float* weights, std::byte* blocks, int64_t count, const float* importance) {
  encode_blocks<BlockQ8_K, 256>(weights, blocks, count, importance, [](const BlockInput<256>& input, BlockQ8_K& block) {
    const ScaleFit fit = search_scale<256>(input.x, input.w, kQ8_KLevels, kQ8_KPlan);
    block.scale = fit.scale * input.unit;
    quantize_integers<256>(input.x, block.scale / input.unit, kQ8_KLevels, 0, block.quants);
    for (int group = 0; group < 16; ++group) {
      int sum = 0;
      for (int i = 0; i < 16; ++i) sum += block.quants[group * 16 + i];
      block.sums[group] = static_cast<int16_t>(sum);
    }
  });
}

}  // namespace wick
