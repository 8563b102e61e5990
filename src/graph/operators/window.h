#pragma once

#include <array>
#include <string>
#include <vector>

#include "graph/numbers.h"
#include "graph/operators.h"

namespace wick::graph {

// A window that moves over up to three spatial dimensions: what convolutions and pooling share. Fewer dimensions are
// seen as three whose first have size 1.
struct Window {
  int spatial = 0;  // dimensions that the tensor has
  std::array<int64_t, 3> size{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1}, before{}, after{},
      out{1, 1, 1};

  int64_t out_count() const { return out[0] * out[1] * out[2]; }
  int64_t in_count() const { return size[0] * size[1] * size[2]; }
  int64_t kernel_count() const { return kernel[0] * kernel[1] * kernel[2]; }
  bool pads() const { return before != std::array<int64_t, 3>{} || after != std::array<int64_t, 3>{}; }
  // The output's shape: [batch, channels, spatial...].
  Shape out_shape(int64_t batch, int64_t channels) const;
};

// From the attributes of a node: kernel_shape (or `kernel`, the weight's), strides, dilations, pads or auto_pad, and
// ceil_mode. Throws Error naming what does not fit.
Window window_of(OpRun& run, const Shape& x, const std::vector<int64_t>& kernel);

// x [batch, channels, spatial...] with columns of its windows: f32 [batch, channels * taps, out_count], padded with
// zeros. `x` is f32, row-major.
Tensor window_columns(const Tensor& x, const Window& window);

// For Conv and what is made of it: f32, f64 and halves.
Tensor convolve(const Tensor& x, const Tensor& weight, const Tensor& bias, const Window& window, int64_t groups);

}  // namespace wick::graph
