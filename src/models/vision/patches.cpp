#include "models/vision/patches.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "ops/layers/resample2d.h"
#include "ops/view.h"
#include "tensor/create.h"

namespace wick {
namespace {

double cubic(double x) {  // Keys, a = -0.5
  x = std::abs(x);
  if (x < 1) return (1.5 * x - 2.5) * x * x + 1;
  return x < 2 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : 0;
}

double triangle(double x) { return std::max(0.0, 1 - std::abs(x)); }

// Weights over all input pixels that an output pixel covers, so that making a grid smaller does not alias.
ResampleTaps antialiased(int64_t in, int64_t out, double support, double (*filter)(double)) {
  const double scale = static_cast<double>(in) / static_cast<double>(out), stretch = std::max(scale, 1.0);
  ResampleTaps taps;
  taps.taps = static_cast<int64_t>(std::ceil(support * stretch)) * 2 + 1;
  for (int64_t row = 0; row < out; ++row) {
    const double center = scale * (static_cast<double>(row) + 0.5), reach = support * stretch;
    const auto first = std::max<int64_t>(0, static_cast<int64_t>(center - reach + 0.5));
    const auto last = std::min(in, static_cast<int64_t>(center + reach + 0.5));
    std::vector<double> weights;
    double sum = 0;
    for (int64_t i = first; i < last; ++i) {
      weights.push_back(filter((static_cast<double>(i) - center + 0.5) / stretch));
      sum += weights.back();
    }
    weights.resize(static_cast<size_t>(taps.taps), 0);
    for (int64_t i = 0; i < taps.taps; ++i) {
      taps.index.push_back(std::min(first + i, in - 1));
      taps.weight.push_back(weights[static_cast<size_t>(i)] / sum);
    }
  }
  return taps;
}

}  // namespace

Tensor patches_of(const Tensor& pixels, int64_t side) {
  const int64_t pictures = pixels.dim(0), channels = pixels.dim(1), height = pixels.dim(2), width = pixels.dim(3);
  if (height % side != 0 || width % side != 0) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("a picture of ", width, " x ", height, " pixels does not divide into patches of ", side));
  }
  const Tensor cut = reshape(pixels, {pictures, channels, height / side, side, width / side, side});
  return reshape(permute(cut, {0, 2, 4, 1, 3, 5}), {pictures * (height / side) * (width / side), -1});
}

Tensor resize_grid(const Tensor& table, GridSize from, GridSize to, GridResize how) {
  if (from == to) return table;
  const int64_t width = table.dim(1);
  const Tensor image = permute(reshape(table, {1, from.rows, from.columns, width}), {0, 3, 1, 2}).contiguous();
  const Pair2d size{to.rows, to.columns};
  Tensor resized;
  switch (how) {
    case GridResize::kNone:
      throw Error(ErrorCode::kInvalidArgument, cat("a picture has ", to.columns, " x ", to.rows,
                                                   " patches, the model takes ", from.columns, " x ", from.rows));
    case GridResize::kBicubic: resized = upsample_bicubic2d(image, size); break;
    case GridResize::kBilinearCorners: resized = upsample_bilinear2d(image, size, true); break;
    case GridResize::kBicubicAntialiased:
      resized =
          resample("resize_grid", image, size, [](int64_t in, int64_t out) { return antialiased(in, out, 2, cubic); });
      break;
    case GridResize::kBilinearAntialiased:
      resized = resample("resize_grid", image, size,
                         [](int64_t in, int64_t out) { return antialiased(in, out, 1, triangle); });
      break;
  }
  return reshape(permute(resized, {0, 2, 3, 1}), {to.count(), width});
}

Tensor join_blocks(const Tensor& rows, GridSize grid, int64_t side) {
  const int64_t width = rows.dim(1), pictures = rows.dim(0) / std::max<int64_t>(grid.count(), 1);
  const Tensor cut = reshape(rows, {pictures, grid.rows / side, side, grid.columns / side, side, width});
  return reshape(permute(cut, {0, 1, 3, 2, 4, 5}), {-1, side * side * width});
}

Tensor block_order(GridSize grid, int64_t side) {
  std::vector<int64_t> order;
  order.reserve(static_cast<size_t>(grid.count()));
  for (int64_t row = 0; row < grid.rows; row += side) {
    for (int64_t column = 0; column < grid.columns; column += side) {
      for (int64_t i = 0; i < side * side; ++i) order.push_back((row + i / side) * grid.columns + column + i % side);
    }
  }
  return from_vector(order, {grid.count()});
}

}  // namespace wick
