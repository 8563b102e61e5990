#pragma once

#include <cstring>
#include <random>
#include <vector>

#include "ops/ops.h"
#include "quant/format.h"
#include "tensor/create.h"

namespace wick {

inline std::vector<DType> packed_dtypes() {
  std::vector<DType> dtypes;
  for (int i = kElementDTypeCount; i < kDTypeCount; ++i) {
    if (static_cast<DType>(i) != DType::kF8E8M0) dtypes.push_back(static_cast<DType>(i));  // only scales have it
  }
  return dtypes;
}

// Formats of checkpoints that begin with an f32 scale and are not encoded.
inline bool has_f32_scale(DType dtype) {
  return dtype == DType::kF8Channel || dtype == DType::kNF4 || dtype == DType::kNVFP4;
}

// Whether products with such weights round the activations to 8 bits.
inline bool rounds_activations(DType dtype) {
  return block_weights(dtype) >= 32 && dtype != DType::kQ8_K && !has_f32_scale(dtype);
}

// Where formats that cannot be encoded keep their f16 scale.
inline int scale_at(DType dtype) {
  switch (dtype) {
    case DType::kTQ1_0: return 52;
    case DType::kTQ2_0: return 64;
    default: return 0;
  }
}

// Weights around 0.02, as models have them: encoded, or random codes with a sane scale.
inline Tensor packed_weights(int64_t rows, int64_t k, DType dtype, uint64_t seed) {
  if (quant_format(dtype).encode) return quantize(mul(randn({rows, k}, seed), scalar(0.02)), dtype);
  Tensor w = empty({rows, k}, dtype);
  std::mt19937 random(static_cast<uint32_t>(seed));
  const int64_t bytes = bytes_of(dtype, rows * k), block = block_bytes(dtype);
  for (int64_t i = 0; i < bytes; ++i) w.raw()[i] = static_cast<std::byte>(random());
  for (int64_t at = 0; at < bytes; at += block) {
    if (has_f32_scale(dtype)) {
      const float scale = 1e-4f * static_cast<float>(1 + random() % 9);
      std::memcpy(w.raw() + at, &scale, sizeof(scale));
      // E4M3 has NaN: all bits of a byte but the sign.
      for (int64_t i = at + 4; i < at + block; ++i) w.raw()[i] &= std::byte{0xbf};
    } else if (dtype == DType::kIQ1_M) {  // the scale's top bits are the top bits of the last two bytes
      w.raw()[at + block - 1] = (w.raw()[at + block - 1] & std::byte{0x0f}) | std::byte{0x20};
    } else {
      const uint16_t scale = f32_to_f16_bits(0.001f * static_cast<float>(1 + random() % 9));
      std::memcpy(w.raw() + at + scale_at(dtype), &scale, sizeof(scale));
    }
  }
  return w;
}

}  // namespace wick
