#include "ops/conv1d.h"

#include "ops/conv2d.h"
#include "ops/squeeze.h"
#include "ops/unsqueeze.h"

namespace wick {

Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv1dOptions& options) {
  const Conv2dOptions flat{{1, options.stride}, {0, options.padding}, {1, options.dilation}, options.groups};
  conv_shape("conv1d", 3, x, weight, bias, conv_params(flat));
  return squeeze(conv2d(unsqueeze(x, 2), unsqueeze(weight, 2), bias, flat), 2);
}

}  // namespace wick
