#include "ops/layers/conv.h"

#include <algorithm>
#include <limits>

#include "base/checked.h"
#include "ops/autograd.h"
#include "ops/check.h"
#include "ops/reduction.h"
#include "ops/view.h"

namespace wick {

namespace {

// dilation * (kernel - 1) + 1, the pixels from the first to the last tap.
std::optional<int64_t> kernel_span(int64_t kernel, int64_t dilation) {
  const auto reach = checked_mul(kernel - 1, dilation);
  return reach ? checked_add(*reach, 1) : std::nullopt;
}

std::string pair_text(int rank, int64_t h, int64_t w) { return rank == 3 ? cat(w) : cat(h, " x ", w); }

void check_params(const char* op, int rank, const Conv2dParams& p) {
  const auto least = std::min({p.stride_h, p.stride_w, p.dilation_h, p.dilation_w, p.groups});
  const auto most = std::max({p.stride_h, p.stride_w, p.dilation_h, p.dilation_w, p.padding_h, p.padding_w});
  if (least < 1 || std::min(p.padding_h, p.padding_w) < 0 || most > std::numeric_limits<int32_t>::max()) {
    throw Error(ErrorCode::kInvalidArgument, cat(op, ": stride ", pair_text(rank, p.stride_h, p.stride_w), ", padding ",
                                                 pair_text(rank, p.padding_h, p.padding_w), ", dilation ",
                                                 pair_text(rank, p.dilation_h, p.dilation_w), ", groups ", p.groups,
                                                 ": padding must be at least 0, the others at least 1, and none huge"));
  }
}

void check_tensors(const char* op, int rank, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check_float(op, x);
  check_float(op, weight);
  if (bias.defined()) check_float(op, bias);
  check_same_device(op, {&x, &weight, &bias});
  check_rank(op, "x", x, rank);
  check_rank(op, "weight", weight, rank);
  for (int d = 2; d < rank; ++d) {
    if (weight.dim(d) == 0) throw Error(ErrorCode::kShape, cat(op, ": weight ", weight.shape(), " has no taps"));
  }
}

void check_bias(const char* op, const Tensor& bias, int64_t channels) {
  if (bias.defined() && !(bias.shape() == Shape{channels})) {
    throw Error(ErrorCode::kShape, cat(op, ": bias ", bias.shape(), " for ", channels, " output channels"));
  }
}

// The sizes of the last two dimensions; a 1-d tensor has height 1.
Pair2d plane(const Tensor& x) { return {x.rank() == 3 ? 1 : x.dim(2), x.dim(-1)}; }

Error too_large(const char* op, const Tensor& x, const Tensor& weight) {
  return {ErrorCode::kShape, cat(op, ": the output of x ", x.shape(), " and weight ", weight.shape(), " is too large")};
}

}  // namespace

std::optional<int64_t> conv_size(int64_t size, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation) {
  const auto span = kernel_span(kernel, dilation);
  const auto padding_both = checked_mul(padding, 2);
  const auto padded = padding_both ? checked_add(size, *padding_both) : std::nullopt;
  if (!span || !padded) return std::nullopt;
  return *padded < *span ? 0 : (*padded - *span) / stride + 1;
}

std::optional<int64_t> conv_transpose_size(int64_t size, int64_t kernel, int64_t stride, int64_t padding,
                                           int64_t output_padding, int64_t dilation) {
  if (size == 0) return 0;
  const auto span = kernel_span(kernel, dilation);
  const auto steps = checked_mul(size - 1, stride);
  const auto padding_both = checked_mul(padding, 2);
  if (!span || !steps || !padding_both) return std::nullopt;
  const auto reach = checked_add(*steps, *span);
  const auto full = reach ? checked_add(*reach, output_padding) : std::nullopt;
  if (!full) return std::nullopt;
  return std::max<int64_t>(0, *full - *padding_both);
}

Conv2dParams conv_params(const Conv2dOptions& options) {
  return {options.stride.h,   options.stride.w,   options.padding.h, options.padding.w,
          options.dilation.h, options.dilation.w, options.groups};
}

Conv2dParams conv_params(const ConvTranspose2dOptions& options) {
  return conv_params(Conv2dOptions{options.stride, options.padding, options.dilation, options.groups});
}

Shape conv_shape(const char* op, int rank, const Tensor& x, const Tensor& weight, const Tensor& bias,
                 const Conv2dParams& p) {
  check_tensors(op, rank, x, weight, bias);
  check_params(op, rank, p);
  if (weight.dim(0) % p.groups != 0) {
    throw Error(ErrorCode::kShape, cat(op, ": ", weight.dim(0), " output channels of weight ", weight.shape(),
                                       " do not divide into ", p.groups, " groups"));
  }
  const auto channels = checked_mul(weight.dim(1), p.groups);
  if (!channels || x.dim(1) != *channels) {
    throw Error(ErrorCode::kShape,
                cat(op, ": x ", x.shape(), " has ", x.dim(1), " channels, weight ", weight.shape(), " with ", p.groups,
                    " groups takes ", channels.value_or(std::numeric_limits<int64_t>::max())));
  }
  check_bias(op, bias, weight.dim(0));
  const Pair2d image = plane(x), kernel = plane(weight);
  const auto oh = conv_size(image.h, kernel.h, p.stride_h, p.padding_h, p.dilation_h);
  const auto ow = conv_size(image.w, kernel.w, p.stride_w, p.padding_w, p.dilation_w);
  if (!oh || !ow) throw too_large(op, x, weight);
  if (*oh == 0 || *ow == 0) {
    throw Error(ErrorCode::kShape, cat(op, ": x ", x.shape(), " with padding ",
                                       pair_text(rank, p.padding_h, p.padding_w), " is smaller than weight ",
                                       weight.shape(), " with dilation ", pair_text(rank, p.dilation_h, p.dilation_w)));
  }
  return {x.dim(0), weight.dim(0), *oh, *ow};
}

Shape conv_transpose_shape(const char* op, int rank, const Tensor& x, const Tensor& weight, const Tensor& bias,
                           const Conv2dParams& p, Pair2d output_padding) {
  check_tensors(op, rank, x, weight, bias);
  check_params(op, rank, p);
  if (x.dim(1) != weight.dim(0) || x.dim(1) % p.groups != 0) {
    throw Error(ErrorCode::kShape, cat(op, ": x ", x.shape(), " has ", x.dim(1), " channels, weight ", weight.shape(),
                                       " with ", p.groups, " groups takes ", weight.dim(0)));
  }
  const auto channels = checked_mul(weight.dim(1), p.groups);
  if (!channels) throw too_large(op, x, weight);
  check_bias(op, bias, *channels);
  if (output_padding.h < 0 || output_padding.w < 0 || output_padding.h >= std::max(p.stride_h, p.dilation_h) ||
      output_padding.w >= std::max(p.stride_w, p.dilation_w)) {
    throw Error(
        ErrorCode::kInvalidArgument,
        cat(op, ": output_padding ", pair_text(rank, output_padding.h, output_padding.w), " must be less than stride ",
            pair_text(rank, p.stride_h, p.stride_w), " or dilation ", pair_text(rank, p.dilation_h, p.dilation_w)));
  }
  const Pair2d image = plane(x), kernel = plane(weight);
  const auto oh = conv_transpose_size(image.h, kernel.h, p.stride_h, p.padding_h, output_padding.h, p.dilation_h);
  const auto ow = conv_transpose_size(image.w, kernel.w, p.stride_w, p.padding_w, output_padding.w, p.dilation_w);
  if (!oh || !ow) throw too_large(op, x, weight);
  if (*oh == 0 || *ow == 0) {
    throw Error(ErrorCode::kShape, cat(op, ": x ", x.shape(), " and weight ", weight.shape(), " with padding ",
                                       pair_text(rank, p.padding_h, p.padding_w), " leave an empty image"));
  }
  return {x.dim(0), *channels, *oh, *ow};
}

Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv1dOptions& options) {
  const Conv2dOptions flat{{1, options.stride}, {0, options.padding}, {1, options.dilation}, options.groups};
  conv_shape("conv1d", 3, x, weight, bias, conv_params(flat));
  return squeeze(conv2d(unsqueeze(x, 2), unsqueeze(weight, 2), bias, flat), 2);
}

Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dOptions& options) {
  const Conv2dParams params = conv_params(options);
  const Shape shape = conv_shape("conv2d", 4, x, weight, bias, params);
  const auto kernel = find_kernel("conv2d", x.device(), &KernelTable::conv2d);
  Tensor out = empty(shape, promote(x.dtype(), weight.dtype()), x.device());
  kernel(x, weight, bias, params, out);
  if (tracks(x, weight, bias)) {
    record(out, "conv2d", {x, weight, bias}, [x, weight, bias, params](const Tensor& grad) -> Grads {
      Grads grads(3);
      if (x.requires_grad()) {
        grads[0] = empty_like(x);
        find_kernel("conv2d", x.device(), &KernelTable::conv_transpose2d)(grad, weight, {}, params, grads[0]);
      }
      if (weight.requires_grad()) {
        grads[1] = empty_like(weight);
        find_kernel("conv2d", x.device(), &KernelTable::conv2d_weight_grad)(x, grad, params, grads[1]);
      }
      if (bias.requires_grad()) grads[2] = sum(grad, {0, 2, 3});
      return grads;
    });
  }
  return out;
}

Tensor conv_transpose1d(const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const ConvTranspose1dOptions& options) {
  const ConvTranspose2dOptions flat{
      {1, options.stride}, {0, options.padding}, {0, options.output_padding}, {1, options.dilation}, options.groups};
  conv_transpose_shape("conv_transpose1d", 3, x, weight, bias, conv_params(flat), flat.output_padding);
  return squeeze(conv_transpose2d(unsqueeze(x, 2), unsqueeze(weight, 2), bias, flat), 2);
}

Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const ConvTranspose2dOptions& options) {
  const Conv2dParams params = conv_params(options);
  const Shape shape = conv_transpose_shape("conv_transpose2d", 4, x, weight, bias, params, options.output_padding);
  const auto kernel = find_kernel("conv_transpose2d", x.device(), &KernelTable::conv_transpose2d);
  Tensor out = empty(shape, promote(x.dtype(), weight.dtype()), x.device());
  kernel(x, weight, bias, params, out);
  if (tracks(x, weight, bias)) {
    // Seen from the gradient, x is the output of a convolution over the image `grad`.
    record(out, "conv_transpose2d", {x, weight, bias}, [x, weight, bias, params](const Tensor& grad) -> Grads {
      Grads grads(3);
      if (x.requires_grad()) {
        grads[0] = empty_like(x);
        find_kernel("conv_transpose2d", x.device(), &KernelTable::conv2d)(grad, weight, {}, params, grads[0]);
      }
      if (weight.requires_grad()) {
        grads[1] = empty_like(weight);
        find_kernel("conv_transpose2d", x.device(), &KernelTable::conv2d_weight_grad)(grad, x, params, grads[1]);
      }
      if (bias.requires_grad()) grads[2] = sum(grad, {0, 2, 3});
      return grads;
    });
  }
  return out;
}

}  // namespace wick
