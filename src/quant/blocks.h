#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "quant/lanes.h"
#include "tensor/half.h"

namespace wick {

// Calls body(block, weights of that block) for every block. Blocks may lie at any address, so each is copied out.
template <typename Block, int kWeights, typename Body>
void decode_blocks(const std::byte* blocks, float* weights, int64_t count, Body body) {
  for (int64_t i = 0; i < count / kWeights; ++i) {
    Block block;
    std::memcpy(&block, blocks + i * static_cast<int64_t>(sizeof(Block)), sizeof(Block));
    body(block, weights + i * kWeights);
  }
}

// What an encoder works on: weights and importances of one block brought to a common size, so that squares neither
// overflow nor vanish.
template <int kWeights>
struct BlockInput {
  alignas(16) float x[kWeights];  // weight / unit; the largest magnitude is in [1, 2), or all are 0
  alignas(16) float w[kWeights];  // importance; the largest is in [1, 2)
  float unit;                     // a power of two
};

// A power of two u with 1 <= largest / u < 2, as near as floats allow; 1 for 0.
inline float power_of_two_below(float largest) {
  const uint32_t exponent = std::bit_cast<uint32_t>(largest) & 0x7f800000u;
  return exponent == 0 ? (largest == 0.0f ? 1.0f : 0x1p-126f) : std::bit_cast<float>(exponent);
}

// What is not finite becomes 0. Returns the largest magnitude.
template <int kWeights>
float copy_finite(const float* from, float* to) {
  Lanes largest = {};
  for (int i = 0; i < kWeights; i += 4) {
    const Lanes value = load_lanes(from + i);
    const Lanes zero_or_nan = value - value;
    const Lanes finite = zero_or_nan == zero_or_nan ? value : Lanes{};
    largest = max_lanes(largest, max_lanes(finite, -finite));
    store_lanes(finite, to + i);
  }
  return max_of_lanes(largest);
}

template <int kWeights>
void load_importance(const float* importance, float* w) {
  float largest = 0;
  if (importance) largest = copy_finite<kWeights>(importance, w);
  if (largest == 0.0f) {
    std::fill_n(w, kWeights, 1.0f);
    return;
  }
  const float inverse = 1.0f / power_of_two_below(largest);
  for (int i = 0; i < kWeights; ++i) w[i] = (w[i] > 0.0f ? w[i] : 0.0f) * inverse;
}

template <int kWeights>
void load_weights(const float* weights, BlockInput<kWeights>& input) {
  input.unit = power_of_two_below(copy_finite<kWeights>(weights, input.x));
  const Lanes inverse = broadcast(1.0f / input.unit);
  for (int i = 0; i < kWeights; i += 4) store_lanes(load_lanes(input.x + i) * inverse, input.x + i);
}

// Calls body(input, block) for every block; body fills the block.
template <typename Block, int kWeights, typename Body>
void encode_blocks(const float* weights, std::byte* blocks, int64_t count, const float* importance, Body body) {
  BlockInput<kWeights> input;
  if (!importance) load_importance<kWeights>(nullptr, input.w);
  for (int64_t i = 0; i < count / kWeights; ++i) {
    load_weights<kWeights>(weights + i * kWeights, input);
    if (importance) load_importance<kWeights>(importance + i * kWeights, input.w);
    Block block;
    body(input, block);
    std::memcpy(blocks + i * static_cast<int64_t>(sizeof(Block)), &block, sizeof(Block));
  }
}

// A scale as it will be read back: rounded to f16, the largest finite one where it would overflow.
struct StoredScale {
  uint16_t bits;
  float value;  // in units of the block
};
inline StoredScale store_scale(float scale, float unit) {
  const uint16_t bits = f32_to_f16_bits(std::clamp(scale * unit, -65504.0f, 65504.0f));
  return {bits, f16_bits_to_f32(bits) / unit};
}

// 0 for a scale that is 0 or too small to divide by.
inline float inverse_or_zero(float scale) {
  return std::abs(scale) < std::numeric_limits<float>::min() ? 0.0f : 1.0f / scale;
}

// Two weights of a block of 32 per byte: low nibbles = weights 0-15, high nibbles = 16-31.
inline void pack_nibbles(const uint8_t* quants, uint8_t* nibbles) {
  for (int i = 0; i < 16; ++i) nibbles[i] = static_cast<uint8_t>(quants[i] | quants[i + 16] << 4);
}

}  // namespace wick
