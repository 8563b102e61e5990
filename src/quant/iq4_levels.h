#pragma once

#include "quant/blocks.h"
#include "quant/iq4_nl.h"
#include "quant/lanes.h"

namespace wick {

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
inline void quantize_iq4(const float* x, float scale, uint8_t* nibbles) {
  const float inverse = inverse_or_zero(scale);
  int32_t index[32] = {};
  for (int level = 0; level < 15; ++level) {
    const float between = 0.5f * static_cast<float>(kIq4Values[level] + kIq4Values[level + 1]);
    for (int i = 0; i < 32; ++i) index[i] += x[i] * inverse > between ? 1 : 0;
  }
  for (int i = 0; i < 16; ++i) nibbles[i] = static_cast<uint8_t>(index[i] | index[i + 16] << 4);
}

}  // namespace wick
