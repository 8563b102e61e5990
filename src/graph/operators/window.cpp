#include "graph/operators/window.h"

#include <algorithm>

#include "base/checked.h"
#include "base/thread_pool.h"
#include "ops/binary.h"
#include "ops/layers/conv.h"
#include "ops/layers/matmul.h"
#include "ops/rearrange.h"
#include "ops/view.h"

namespace wick::graph {

Shape Window::out_shape(int64_t batch, int64_t channels) const {
  std::vector<int64_t> sizes{batch, channels};
  for (int d = 3 - spatial; d < 3; ++d) sizes.push_back(out[d]);
  return shape_of(sizes);
}

Window window_of(OpRun& run, const Shape& x, const std::vector<int64_t>& kernel) {
  Window w;
  w.spatial = x.rank() - 2;
  if (w.spatial < 1 || w.spatial > 3)
    throw not_offered(cat("the input is ", x, "; Wick has 1 to 3 dimensions behind batch and channels"));
  const std::vector<int64_t> sizes = run.has("kernel_shape") ? run.ints("kernel_shape") : kernel,
                             strides = run.ints("strides"), dilations = run.ints("dilations"), pads = run.ints("pads");
  const auto check = [&](const std::vector<int64_t>& values, size_t count, const char* what) {
    if (!values.empty() && values.size() != count)
      throw Error(ErrorCode::kShape, cat(values.size(), " ", what, " for ", x));
  };
  const auto n = static_cast<size_t>(w.spatial);
  if (sizes.size() != n || (!kernel.empty() && sizes != kernel))
    throw Error(ErrorCode::kShape,
                cat("a kernel of ", sizes.size(), " dimensions for ", x, ", or not that of the weight"));
  check(strides, n, "strides"), check(dilations, n, "dilations"), check(pads, 2 * n, "pads");
  const std::string automatic = run.get("auto_pad", "NOTSET");
  const bool ceil_mode = run.get("ceil_mode", int64_t{0}) != 0;
  constexpr int64_t kMost = int64_t{1} << 31;
  for (size_t i = 0; i < n; ++i) {
    const size_t d = 3 - n + i;
    w.size[d] = x[static_cast<int>(i) + 2];
    w.kernel[d] = sizes[i];
    if (!strides.empty()) w.stride[d] = strides[i];
    if (!dilations.empty()) w.dilation[d] = dilations[i];
    if (!pads.empty() && automatic == "NOTSET") w.before[d] = pads[i], w.after[d] = pads[i + n];
    const int64_t least = std::min({w.kernel[d], w.stride[d], w.dilation[d]}),
                  most = std::max({w.kernel[d], w.stride[d], w.dilation[d], w.before[d], w.after[d]});
    if (least < 1 || most >= kMost || std::min(w.before[d], w.after[d]) < 0) {
      throw bad_input("kernel, strides and dilations must be at least 1, pads at least 0, and none huge");
    }
    const auto reach = checked_mul(w.kernel[d] - 1, w.dilation[d]);
    if (!reach || *reach >= kMost || w.size[d] >= kMost)
      throw Error(ErrorCode::kShape, cat("the window is too large for ", x));
    const int64_t span = *reach + 1;
    if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
      w.out[d] = ceil_div(w.size[d], w.stride[d]);
      const int64_t total = std::max<int64_t>((w.out[d] - 1) * w.stride[d] + span - w.size[d], 0);
      w.before[d] = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
      w.after[d] = total - w.before[d];
      continue;
    }
    if (automatic != "NOTSET" && automatic != "VALID" && !automatic.empty())
      throw bad_input(cat("auto_pad is '", automatic, "'"));
    const int64_t room = w.size[d] + w.before[d] + w.after[d] - span;
    if (room < 0) throw Error(ErrorCode::kShape, cat("a window of ", span, " does not fit into ", x, " with its pads"));
    w.out[d] = (ceil_mode ? ceil_div(room, w.stride[d]) : room / w.stride[d]) + 1;
    // The last window must begin inside of the image or its left padding.
    if (ceil_mode && (w.out[d] - 1) * w.stride[d] >= w.size[d] + w.before[d]) --w.out[d];
  }
  static_cast<void>(w.out_shape(x[0], x[1]));  // throws when it is too large to count
  static_cast<void>(Shape{w.kernel[0], w.kernel[1], w.kernel[2]});
  return w;
}

Tensor window_columns(const Tensor& x, const Window& w) {
  const int64_t batch = x.dim(0), channels = x.dim(1), taps = w.kernel_count(), places = w.out_count();
  const Tensor out = empty({batch, channels * taps, places});
  const float* from = x.data<float>();
  float* to = out.mutable_data<float>();
  parallel_for(batch * channels * taps, std::max<int64_t>(1, 16384 / std::max<int64_t>(places, 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t row = begin; row < end; ++row) {
                   const int64_t tap = row % taps, plane = row / taps;
                   const int64_t kd = tap / (w.kernel[1] * w.kernel[2]), kh = tap / w.kernel[2] % w.kernel[1],
                                 kw = tap % w.kernel[2];
                   const float* image = from + plane * w.in_count();
                   float* line = to + row * places;
                   for (int64_t d = 0; d < w.out[0]; ++d) {
                     const int64_t z = d * w.stride[0] + kd * w.dilation[0] - w.before[0];
                     for (int64_t h = 0; h < w.out[1]; ++h) {
                       const int64_t y = h * w.stride[1] + kh * w.dilation[1] - w.before[1];
                       const bool inside = z >= 0 && z < w.size[0] && y >= 0 && y < w.size[1];
                       for (int64_t i = 0; i < w.out[2]; ++i) {
                         const int64_t at = i * w.stride[2] + kw * w.dilation[2] - w.before[2];
                         *line++ =
                             inside && at >= 0 && at < w.size[2] ? image[(z * w.size[1] + y) * w.size[2] + at] : 0;
                       }
                     }
                   }
                 }
               });
  return out;
}

Tensor convolve(const Tensor& x, const Tensor& weight, const Tensor& bias, const Window& w, int64_t groups) {
  if (groups < 1 || weight.dim(0) % groups != 0 || x.dim(1) % groups != 0 || weight.dim(1) != x.dim(1) / groups) {
    throw Error(ErrorCode::kShape,
                cat("x ", x.shape(), ", weight ", weight.shape(), " and ", groups, " groups do not fit"));
  }
  if (bias.defined() && bias.shape() != Shape{weight.dim(0)})
    throw Error(ErrorCode::kShape, cat("bias ", bias.shape(), " for weight ", weight.shape()));
  if (w.spatial < 3) {
    Tensor image = x;
    // The kernels pad both sides alike.
    int64_t pad_h = w.before[1], pad_w = w.before[2];
    const bool even = w.before == w.after;
    if (!even) {
      if (w.spatial == 2) image = pad(image, 2, w.before[1], w.after[1]);
      image = pad(image, -1, w.before[2], w.after[2]);
      pad_h = pad_w = 0;
    }
    const bool flat = w.spatial == 1;
    const Tensor image4 = flat ? unsqueeze(image, 2) : image, weight4 = flat ? unsqueeze(weight, 2) : weight;
    const Tensor out = conv2d(image4, weight4, bias,
                              {{w.stride[1], w.stride[2]}, {pad_h, pad_w}, {w.dilation[1], w.dilation[2]}, groups});
    return flat ? squeeze(out, 2) : out;
  }
  // Three dimensions: a product with the columns of all windows.
  const Tensor columns = window_columns(x.to_dtype(DType::kF32).contiguous(), w);
  const int64_t batch = x.dim(0), taps = weight.dim(1) * w.kernel_count();
  const Tensor grouped = reshape(columns, {batch, groups, taps, w.out_count()}),
               weights = reshape(weight.to_dtype(DType::kF32), {1, groups, weight.dim(0) / groups, taps});
  Tensor out = reshape(matmul(weights, grouped), w.out_shape(batch, weight.dim(0)));
  if (bias.defined()) out = add(out, reshape(bias, {1, bias.dim(0), 1, 1, 1}));
  return out.to_dtype(x.dtype());
}

}  // namespace wick::graph
