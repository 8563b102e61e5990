#pragma once

#include <cstdint>
#include <vector>

#include "media/image/resize.h"

namespace wick {

// What one output pixel is made of: taps() inputs from `begin` on. The weights of all outputs lie one behind the other,
// `stride` apart.
struct ResizeWeights {
  std::vector<int> begin, taps;
  std::vector<int32_t> weights;  // times 1 << precision
  int stride = 0;
  int precision = 0;

  const int32_t* at(int output) const {
    return weights.data() + static_cast<size_t>(output) * static_cast<size_t>(stride);
  }
};

ResizeWeights resize_weights(int size, int new_size, ResizeFilter filter, ResizeArithmetic arithmetic);

// The same in f32, as torch computes them for tensors of f32.
struct FloatResizeWeights {
  std::vector<int> begin, taps;
  std::vector<float> weights;
  int stride = 0;
};
FloatResizeWeights float_resize_weights(int size, int new_size, ResizeFilter filter);

}  // namespace wick
