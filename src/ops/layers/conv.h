#pragma once

#include <cstdint>
#include <optional>

#include "ops/kernel_table.h"
#include "tensor/tensor.h"

namespace wick {

// One number for both directions, or height and width apart.
struct Pair2d {
  Pair2d(int64_t both) : h(both), w(both) {}  // NOLINT(google-explicit-constructor): stride = 2
  Pair2d(int64_t height, int64_t width) : h(height), w(width) {}
  int64_t h, w;
};

struct Conv1dOptions {
  int64_t stride = 1, padding = 0, dilation = 1, groups = 1;
};
struct Conv2dOptions {
  Pair2d stride = 1, padding = 0, dilation = 1;
  int64_t groups = 1;
};
// output_padding adds that much at the end of the output, to choose among the sizes that conv maps to one.
struct ConvTranspose1dOptions {
  int64_t stride = 1, padding = 0, output_padding = 0, dilation = 1, groups = 1;
};
struct ConvTranspose2dOptions {
  Pair2d stride = 1, padding = 0, output_padding = 0, dilation = 1;
  int64_t groups = 1;
};

// --- For the convolution ops: checks shared by 1-d and 2-d. ---

// The number of places where the kernel fits on the padded image, 0 when it fits nowhere; empty on overflow.
std::optional<int64_t> conv_size(int64_t size, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation);
// (size - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1, at least 0; empty on overflow.
std::optional<int64_t> conv_transpose_size(int64_t size, int64_t kernel, int64_t stride, int64_t padding,
                                           int64_t output_padding, int64_t dilation);

Conv2dParams conv_params(const Conv2dOptions& options);
Conv2dParams conv_params(const ConvTranspose2dOptions& options);

// Both check everything about a call and return the output's shape [batch, out, oh, ow]; x and weight are of rank 3
// (1-d: oh is 1) or 4. Throw Error naming the op and the facts.
Shape conv_shape(const char* op, int rank, const Tensor& x, const Tensor& weight, const Tensor& bias,
                 const Conv2dParams& params);
Shape conv_transpose_shape(const char* op, int rank, const Tensor& x, const Tensor& weight, const Tensor& bias,
                           const Conv2dParams& params, Pair2d output_padding);

// x [batch, in, width], weight [out, in / groups, taps], bias [out] or undefined -> [batch, out, out_width].
// Floats only; the result has the promoted dtype of x and weight.
Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const Conv1dOptions& options = {});

// x [batch, in, h, w], weight [out, in / groups, kh, kw], bias [out] or undefined -> [batch, out, oh, ow].
// Floats only; the result has the promoted dtype of x and weight.
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const Conv2dOptions& options = {});

// The transpose of conv1d: x [batch, in, width], weight [in, out / groups, taps], bias [out] or undefined ->
// [batch, out, out_width]. Floats only; the result has the promoted dtype of x and weight.
Tensor conv_transpose1d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                        const ConvTranspose1dOptions& options = {});

// The transpose of conv2d: x [batch, in, h, w], weight [in, out / groups, kh, kw], bias [out] or undefined ->
// [batch, out, oh, ow]. Floats only; the result has the promoted dtype of x and weight.
Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                        const ConvTranspose2dOptions& options = {});

}  // namespace wick
