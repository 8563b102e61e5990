#include "quant/mxfp4.h"

#include "quant/blocks.h"
#include "quant/scale_search.h"

namespace wick {
namespace {

constexpr int kTopExponent = 252;  // beyond, the largest level overflows

// Twice the values of E2M1: 0, 1, 2, 3, 4, 6, 8, 12 and their negatives.
struct E2M1Levels {
  static Lanes nearest(Lanes value) {
    const Lanes magnitude = max_lanes(value, -value);
    const Lanes large = magnitude < 5.0f ? broadcast(4) : (magnitude < 7.0f ? broadcast(6) : broadcast(8));
    const Lanes level = magnitude < 3.5f ? round_lanes(magnitude) : (magnitude < 10.0f ? large : broadcast(12));
    return value < 0.0f ? -level : level;
  }
};

uint8_t e2m1_of(int doubled) {
  constexpr uint8_t kIndex[13] = {0, 1, 2, 3, 4, 4, 5, 5, 6, 6, 6, 7, 7};
  return static_cast<uint8_t>(kIndex[std::abs(doubled)] | (doubled < 0 ? 8 : 0));
}

}  // namespace

void decode_mxfp4(const std::byte* blocks, float* weights, int64_t count) {
  decode_blocks<BlockMXFP4, 32>(blocks, weights, count, [](const BlockMXFP4& block, float* out) {
    const float scale = mxfp4_scale(block.exponent);
    float levels[16];
    for (int i = 0; i < 16; ++i) levels[i] = static_cast<float>(kE2M1Doubled[i]) * scale;
    for (int i = 0; i < 16; ++i) {
      out[i] = levels[block.nibbles[i] & 15];
      out[i + 16] = levels[block.nibbles[i] >> 4];
    }
  });
}

void encode_mxfp4(const float* weights, std::byte* blocks, int64_t count, const float* importance) {
  encode_blocks<BlockMXFP4, 32>(weights, blocks, count, importance, [](const BlockInput<32>& input, BlockMXFP4& block) {
    const int largest_exponent = static_cast<int>(std::bit_cast<uint32_t>(input.unit) >> 23);
    ScaleFit best;
    for (int exponent = largest_exponent - 3; exponent < largest_exponent; ++exponent) {
      const auto stored = static_cast<uint8_t>(std::clamp(exponent, 0, kTopExponent));
      const float scale = mxfp4_scale(stored) / input.unit;
      best.offer(stored, sum_residuals<32>(input.x, input.w, scale, E2M1Levels{}).rr);
    }
    block.exponent = static_cast<uint8_t>(best.scale);
    const Lanes inverse = broadcast(inverse_or_zero(mxfp4_scale(block.exponent) / input.unit));
    alignas(16) float levels[32];
    for (int i = 0; i < 32; i += 4) store_lanes(E2M1Levels::nearest(load_lanes(input.x + i) * inverse), levels + i);
    uint8_t quants[32];
    for (int i = 0; i < 32; ++i) quants[i] = e2m1_of(static_cast<int>(levels[i]));
    pack_nibbles(quants, block.nibbles);
  });
}

}  // namespace wick
