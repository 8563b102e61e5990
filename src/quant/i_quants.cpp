#include "quant/i_quants.h"

#include "quant/blocks.h"
#include "quant/codebooks.h"
#include "quant/k_scale_search.h"
#include "quant/lanes.h"
#include "quant/scale_search.h"
#include "tensor/half.h"

namespace wick {
namespace {

// The 16 uneven levels of IQ4_NL and IQ4_XS, for the searches of quant/scale_search.h.
struct Iq4Levels {
  static Lanes nearest(Lanes value) {
    Lanes level = broadcast(kIq4Values[0]);
    for (int i = 0; i < 15; ++i) {
      const float between = 0.5f * static_cast<float>(kIq4Values[i] + kIq4Values[i + 1]);
      const float gap = static_cast<float>(kIq4Values[i + 1] - kIq4Values[i]);
      level += value > between ? broadcast(gap) : Lanes{};
    }
    return level;
  }
};

// 32 weights as nibbles: low nibbles = weights 0-15, high nibbles = 16-31.
void quantize_iq4(const float* x, float scale, uint8_t* nibbles) {
  const float inverse = inverse_or_zero(scale);
  int32_t index[32] = {};
  for (int level = 0; level < 15; ++level) {
    const float between = 0.5f * static_cast<float>(kIq4Values[level] + kIq4Values[level + 1]);
    for (int i = 0; i < 32; ++i) index[i] += x[i] * inverse > between ? 1 : 0;
  }
  for (int i = 0; i < 16; ++i) nibbles[i] = static_cast<uint8_t>(index[i] | index[i + 16] << 4);
}

}  // namespace

float whole_scale(const BlockIQ1_S& block) { return f16_bits_to_f32(block.scale) * kIq1Shift; }

void expand(const BlockIQ1_S& block, WholeBlock& whole) {
  whole.scale = whole_scale(block);
  for (int group = 0; group < 8; ++group) {
    const uint32_t high = block.index_high[group];
    set_group_of_32(whole, group, static_cast<int>(2 * (high >> 12 & 7) + 1));
    for (int run = 0; run < 4; ++run) {
      const uint32_t index = block.index_low[group * 4 + run] | (high >> 3 * run & 7) << 8;
      write_shifted_run(kIq1Grid[index], (high & 0x8000) != 0, whole.codes + group * 32 + run * 8);
    }
  }
}

void decode_iq1_s(const std::byte* blocks, float* weights, int64_t count) {
  decode_whole<BlockIQ1_S>(blocks, weights, count);
}

float whole_scale(const BlockIQ1_M& block) {
  uint16_t words[4];
  std::memcpy(words, block.scales, sizeof(words));
  uint32_t bits = 0;
  for (int i = 0; i < 4; ++i) bits |= static_cast<uint32_t>(words[i] >> 12) << 4 * i;
  return f16_bits_to_f32(static_cast<uint16_t>(bits)) * kIq1Shift;
}

void expand(const BlockIQ1_M& block, WholeBlock& whole) {
  whole.scale = whole_scale(block);
  uint16_t words[4];
  std::memcpy(words, block.scales, sizeof(words));
  for (int group = 0; group < 16; ++group) {
    whole.group_scales[group] = static_cast<int16_t>(2 * (words[group / 4] >> 3 * (group % 4) & 7) + 1);
  }
  for (int run = 0; run < 32; ++run) {
    const uint32_t high = block.index_high[run / 2] >> run % 2 * 4;
    write_shifted_run(kIq1Grid[block.index_low[run] | (high & 7) << 8], (high & 8) != 0, whole.codes + run * 8);
  }
}

void decode_iq1_m(const std::byte* blocks, float* weights, int64_t count) {
  decode_whole<BlockIQ1_M>(blocks, weights, count);
}

float whole_scale(const BlockIQ2_XXS& block) { return f16_bits_to_f32(block.scale) / 8; }

void expand(const BlockIQ2_XXS& block, WholeBlock& whole) {
  whole.scale = whole_scale(block);
  for (int group = 0; group < 8; ++group) {
    const uint16_t* codes = block.codes + group * 4;
    const uint32_t indices = codes[0] | static_cast<uint32_t>(codes[1]) << 16;
    const uint32_t signs = codes[2] | static_cast<uint32_t>(codes[3]) << 16;
    set_group_of_32(whole, group, static_cast<int>(2 * (signs >> 28) + 1));
    for (int run = 0; run < 4; ++run) {
      write_signed_run(kIq2xxsGrid[indices >> 8 * run & 255], expand_signs(signs >> 7 * run & 127),
                       whole.codes + group * 32 + run * 8);
    }
  }
}

void decode_iq2_xxs(const std::byte* blocks, float* weights, int64_t count) {
  decode_whole<BlockIQ2_XXS>(blocks, weights, count);
}

float whole_scale(const BlockIQ2_XS& block) { return f16_bits_to_f32(block.scale) / 8; }

void expand(const BlockIQ2_XS& block, WholeBlock& whole) {
  whole.scale = whole_scale(block);
  for (int group = 0; group < 16; ++group) {
    whole.group_scales[group] = static_cast<int16_t>(2 * (block.group_scales[group / 2] >> group % 2 * 4 & 15) + 1);
  }
  for (int run = 0; run < 32; ++run) {
    const uint32_t code = block.codes[run];
    write_signed_run(kIq2xsGrid[code & 511], expand_signs(code >> 9), whole.codes + run * 8);
  }
}

void decode_iq2_xs(const std::byte* blocks, float* weights, int64_t count) {
  decode_whole<BlockIQ2_XS>(blocks, weights, count);
}

float whole_scale(const BlockIQ2_S& block) { return f16_bits_to_f32(block.scale) / 8; }

void expand(const BlockIQ2_S& block, WholeBlock& whole) {
  whole.scale = whole_scale(block);
  for (int group = 0; group < 16; ++group) {
    whole.group_scales[group] = static_cast<int16_t>(2 * (block.group_scales[group / 2] >> group % 2 * 4 & 15) + 1);
  }
  for (int run = 0; run < 32; ++run) {
    const int index = block.index_low[run] | (block.index_high[run / 4] >> run % 4 * 2 & 3) << 8;
    write_signed_run(kIq2sGrid[static_cast<size_t>(index)], block.signs[run], whole.codes + run * 8);
  }
}

void decode_iq2_s(const std::byte* blocks, float* weights, int64_t count) {
  decode_whole<BlockIQ2_S>(blocks, weights, count);
}

float whole_scale(const BlockIQ3_XXS& block) { return f16_bits_to_f32(block.scale) / 4; }

void expand(const BlockIQ3_XXS& block, WholeBlock& whole) {
  whole.scale = whole_scale(block);
  for (int group = 0; group < 8; ++group) {
    uint32_t signs;
    std::memcpy(&signs, block.signs_and_scales + group * 4, sizeof(signs));
    set_group_of_32(whole, group, static_cast<int>(2 * (signs >> 28) + 1));
    for (int pair = 0; pair < 4; ++pair) {
      const uint8_t* index = block.index + group * 8 + pair * 2;
      const uint64_t codes = kIq3xxsGrid[index[0]] | static_cast<uint64_t>(kIq3xxsGrid[index[1]]) << 32;
      write_signed_run(codes, expand_signs(signs >> 7 * pair & 127), whole.codes + group * 32 + pair * 8);
    }
  }
}

void decode_iq3_xxs(const std::byte* blocks, float* weights, int64_t count) {
  decode_whole<BlockIQ3_XXS>(blocks, weights, count);
}

float whole_scale(const BlockIQ3_S& block) { return f16_bits_to_f32(block.scale); }

void expand(const BlockIQ3_S& block, WholeBlock& whole) {
  whole.scale = whole_scale(block);
  for (int group = 0; group < 8; ++group) {
    set_group_of_32(whole, group, 2 * (block.group_scales[group / 2] >> group % 2 * 4 & 15) + 1);
    for (int pair = 0; pair < 4; ++pair) {
      const uint8_t* low = block.index_low + group * 8 + pair * 2;
      const uint32_t high = block.index_high[group] >> pair * 2;
      const uint64_t first = kIq3sGrid[low[0] | (high & 1) << 8];
      const uint64_t second = kIq3sGrid[low[1] | (high >> 1 & 1) << 8];
      write_signed_run(first | second << 32, block.signs[group * 4 + pair], whole.codes + group * 32 + pair * 8);
    }
  }
}

void decode_iq3_s(const std::byte* blocks, float* weights, int64_t count) {
  decode_whole<BlockIQ3_S>(blocks, weights, count);
}

namespace {

constexpr ScalePlan kIQ4_NLPlan{{108, 8, 6}, {94, 8, 6}};

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
                                   const ScaleFit fit = search_scale<32>(input.x, input.w, Iq4Levels{}, kIQ4_NLPlan);
                                   const StoredScale scale = store_scale(fit.scale, input.unit);
                                   block.scale = scale.bits;
                                   quantize_iq4(input.x, scale.value, block.nibbles);
                                 });
}

namespace {

constexpr ScalePlan kIQ4_XSPlan{{108, 8, 6}, {94, 8, 6}};

}  // namespace

void decode_iq4_xs(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockIQ4_XS, 256>(blocks, weights, count, [](const BlockIQ4_XS& block, float* out) {
    const float scale = f16_bits_to_f32(block.scale);
    for (int group = 0; group < 8; ++group) {
      const int low = block.scales_low[group / 2] >> group % 2 * 4 & 15;
      const int high = block.scales_high >> 2 * group & 3;
      const float step = scale * static_cast<float>((low | high << 4) - 32);
      float levels[16];
      for (int i = 0; i < 16; ++i) levels[i] = step * static_cast<float>(kIq4Values[i]);
      const uint8_t* nibbles = block.nibbles + group * 16;
      for (int i = 0; i < 16; ++i) {
        out[group * 32 + i] = levels[nibbles[i] & 15];
        out[group * 32 + 16 + i] = levels[nibbles[i] >> 4];
      }
    }
  });
}

void encode_iq4_xs(const float* weights, std::byte* blocks, int64_t count, const float* importance) {
  encode_blocks<BlockIQ4_XS, 256>(
      weights, blocks, count, importance, [](const BlockInput<256>& input, BlockIQ4_XS& block) {
        const KScales<8> fit = search_k_scales<8>(input, Iq4Levels{}, kIQ4_XSPlan, {-32, 31});
        block = {};
        block.scale = fit.scale.bits;
        for (int group = 0; group < 8; ++group) {
          const int index = fit.index[group] + 32;
          block.scales_low[group / 2] =
              static_cast<uint8_t>(block.scales_low[group / 2] | (index & 15) << group % 2 * 4);
          block.scales_high = static_cast<uint16_t>(block.scales_high | index >> 4 << 2 * group);
          quantize_iq4(input.x + group * 32, fit.step(group), block.nibbles + group * 16);
        }
      });
}

}  // namespace wick
