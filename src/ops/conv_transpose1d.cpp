#include "ops/conv_transpose1d.h"

#include "ops/conv_transpose2d.h"
#include "ops/squeeze.h"
#include "ops/unsqueeze.h"

namespace wick {

Tensor conv_transpose1d(const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const ConvTranspose1dOptions& options) {
  const ConvTranspose2dOptions flat{
      {1, options.stride}, {0, options.padding}, {0, options.output_padding}, {1, options.dilation}, options.groups};
  conv_transpose_shape("conv_transpose1d", 3, x, weight, bias, conv_params(flat), flat.output_padding);
  return squeeze(conv_transpose2d(unsqueeze(x, 2), unsqueeze(weight, 2), bias, flat), 2);
}

}  // namespace wick
