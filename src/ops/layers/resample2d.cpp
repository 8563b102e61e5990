#include "ops/layers/resample2d.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "ops/autograd.h"
#include "ops/check.h"
#include "ops/layers/matmul.h"
#include "ops/view.h"

namespace wick {

namespace {

int64_t count_of(const ResampleTaps& taps) { return static_cast<int64_t>(taps.index.size()) / taps.taps; }

Tensor to_tensor(const std::vector<double>& values, const Shape& shape, const Tensor& like) {
  const DType dtype = like.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  return as_dtype(from_vector(values, shape, like.device()), dtype);
}

Tensor weight_tensor(const ResampleTaps& taps, const Tensor& like) {
  return to_tensor(taps.weight, {count_of(taps), taps.taps}, like);
}

Tensor index_tensor(const ResampleTaps& taps, const Tensor& like) {
  return from_vector(taps.index, {count_of(taps), taps.taps}, like.device());
}

// [outputs, inputs]: the resampling of one dimension as a matrix.
Tensor dense(const ResampleTaps& taps, int64_t inputs, const Tensor& like) {
  const Shape shape{count_of(taps), inputs};
  std::vector<double> matrix(shape.numel(), 0);
  for (size_t i = 0; i < taps.index.size(); ++i) {
    matrix[static_cast<int64_t>(i) / taps.taps * inputs + taps.index[i]] += taps.weight[i];
  }
  return to_tensor(matrix, shape, like);
}

void check_resample(const char* op, const Tensor& x, Pair2d size) {
  check_float(op, x);
  check_rank(op, "x", x, 4);
  if (size.h < 1 || size.w < 1) {
    throw Error(ErrorCode::kInvalidArgument, cat(op, ": output size ", size.h, " x ", size.w, " is empty"));
  }
  if (x.dim(2) == 0 || x.dim(3) == 0) throw Error(ErrorCode::kShape, cat(op, ": x ", x.shape(), " has no pixels"));
}

}  // namespace

double resample_position(int64_t row, int64_t in, int64_t out, bool align_corners) {
  if (align_corners) {
    return out > 1 ? static_cast<double>(row) * static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0;
  }
  return (static_cast<double>(row) + 0.5) * static_cast<double>(in) / static_cast<double>(out) - 0.5;
}

Tensor resample(const char* op, const Tensor& x, Pair2d size, FunctionRef<ResampleTaps(int64_t, int64_t)> make_taps) {
  check_resample(op, x, size);
  const auto kernel = find_kernel(op, x.device(), &KernelTable::resample2d);
  Tensor out = empty({x.dim(0), x.dim(1), size.h, size.w}, x.dtype(), x.device());
  ResampleTaps rows, cols;
  if (out.numel() > 0) {
    rows = make_taps(x.dim(2), size.h);
    cols = make_taps(x.dim(3), size.w);
    kernel(x, index_tensor(rows, x), weight_tensor(rows, x), index_tensor(cols, x), weight_tensor(cols, x), out);
  }
  if (tracks(x)) {
    // Back through the transposed interpolation matrices.
    record(out, op, {x}, [x, rows, cols](const Tensor& grad) -> Grads {
      if (x.numel() == 0) return {empty_like(x)};
      const Tensor row_matrix = dense(rows, x.dim(2), x), col_matrix = dense(cols, x.dim(3), x);
      return {matmul(transpose(row_matrix, 0, 1), matmul(grad, col_matrix))};
    });
  }
  return out;
}

namespace {

ResampleTaps nearest_taps(int64_t in, int64_t out) {
  ResampleTaps taps;
  taps.weight.assign(out, 1);
  for (int64_t i = 0; i < out; ++i) {
    // Exact while i * in fits a double's 53 bits.
    const auto place =
        static_cast<int64_t>(static_cast<double>(i) * static_cast<double>(in) / static_cast<double>(out));
    taps.index.push_back(std::min(place, in - 1));
  }
  return taps;
}

}  // namespace

Tensor upsample_nearest2d(const Tensor& x, Pair2d size) {
  return resample("upsample_nearest2d", x, size, [](int64_t in, int64_t out) { return nearest_taps(in, out); });
}

Tensor upsample_nearest2d_by(const Tensor& x, Pair2d scale) {
  check_rank("upsample_nearest2d", "x", x, 4);
  const auto h = checked_mul(x.dim(2), scale.h), w = checked_mul(x.dim(3), scale.w);
  if (scale.h < 1 || scale.w < 1 || !h || !w) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("upsample_nearest2d: scale ", scale.h, " x ", scale.w, " for x ", x.shape()));
  }
  return upsample_nearest2d(x, {*h, *w});
}

namespace {

ResampleTaps linear_taps(int64_t in, int64_t out, bool align_corners) {
  ResampleTaps taps;
  taps.taps = 2;
  for (int64_t i = 0; i < out; ++i) {
    const double position = std::max(0.0, resample_position(i, in, out, align_corners));
    const int64_t first = std::min(static_cast<int64_t>(position), in - 1);
    const double share = std::min(position - static_cast<double>(first), 1.0);
    taps.index.insert(taps.index.end(), {first, std::min(first + 1, in - 1)});
    taps.weight.insert(taps.weight.end(), {1 - share, share});
  }
  return taps;
}

}  // namespace

Tensor upsample_bilinear2d(const Tensor& x, Pair2d size, bool align_corners) {
  return resample("upsample_bilinear2d", x, size,
                  [&](int64_t in, int64_t out) { return linear_taps(in, out, align_corners); });
}

namespace {

constexpr double kCubicA = -0.75;

// Keys' cubic convolution kernel at a distance of 0 to 2 pixels.
double cubic_weight(double x) {
  if (x <= 1) return ((kCubicA + 2) * x - (kCubicA + 3)) * x * x + 1;
  return ((kCubicA * x - 5 * kCubicA) * x + 8 * kCubicA) * x - 4 * kCubicA;
}

ResampleTaps cubic_taps(int64_t in, int64_t out, bool align_corners) {
  ResampleTaps taps;
  taps.taps = 4;
  for (int64_t i = 0; i < out; ++i) {
    const double position = resample_position(i, in, out, align_corners);
    const double floor = std::floor(position), share = position - floor;
    for (int64_t t = -1; t <= 2; ++t) {
      taps.index.push_back(std::clamp<int64_t>(static_cast<int64_t>(floor) + t, 0, in - 1));
      taps.weight.push_back(cubic_weight(std::abs(share - static_cast<double>(t))));
    }
  }
  return taps;
}

}  // namespace

Tensor upsample_bicubic2d(const Tensor& x, Pair2d size, bool align_corners) {
  return resample("upsample_bicubic2d", x, size,
                  [&](int64_t in, int64_t out) { return cubic_taps(in, out, align_corners); });
}

}  // namespace wick
