#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checked.h"
#include "base/thread_pool.h"
#include "graph/operators/window.h"
#include "ops/reduction.h"
#include "ops/view.h"

namespace wick::graph {
namespace {

// The taps of one window that lie inside, along one dimension: first, end and step in elements.
struct Taps {
  int64_t first, end;  // of places in the image
};
Taps taps_at(const Window& w, int d, int64_t out) {
  int64_t first = out * w.stride[d] - w.before[d];
  const int64_t end = std::min(first + (w.kernel[d] - 1) * w.dilation[d] + 1, w.size[d]);
  if (first < 0) first += ceil_div(-first, w.dilation[d]) * w.dilation[d];
  return {first, end};
}

// body(plane, place of the output, the three ranges of taps)
template <typename Body>
void each_window(const Window& w, int64_t planes, Body body) {
  const int64_t places = w.out_count();
  parallel_for(planes, std::max<int64_t>(1, 4096 / std::max<int64_t>(places * w.kernel_count(), 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t plane = begin; plane < end; ++plane) {
                   int64_t place = 0;
                   for (int64_t d = 0; d < w.out[0]; ++d) {
                     const Taps z = taps_at(w, 0, d);
                     for (int64_t h = 0; h < w.out[1]; ++h) {
                       const Taps y = taps_at(w, 1, h);
                       for (int64_t i = 0; i < w.out[2]; ++i) body(plane, place++, z, y, taps_at(w, 2, i));
                     }
                   }
                 }
               });
}

template <typename Body>
void each_tap(const Window& w, const Taps& z, const Taps& y, const Taps& x, Body body) {
  for (int64_t d = z.first; d < z.end; d += w.dilation[0]) {
    for (int64_t h = y.first; h < y.end; h += w.dilation[1]) {
      const int64_t row = (d * w.size[1] + h) * w.size[2];
      for (int64_t i = x.first; i < x.end; i += w.dilation[2]) body(row + i);
    }
  }
}

template <typename T>
void max_pool(OpRun& run, const Window& w) {
  const Flat<T> x(run.tensor(0));
  const int64_t planes = x.shape()[0] * x.shape()[1], places = w.out_count();
  const Shape shape = w.out_shape(x.shape()[0], x.shape()[1]);
  Flat<T> out(shape);
  Longs where(run.wants(1) ? shape : Shape{0});
  T* to = out.out();
  int64_t* at = run.wants(1) ? where.out() : nullptr;
  const bool columns_first = run.get("storage_order", int64_t{0}) != 0;
  each_window(w, planes, [&](int64_t plane, int64_t place, const Taps& z, const Taps& y, const Taps& x_taps) {
    const T* image = x.data() + plane * w.in_count();
    T best =
        std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
    int64_t best_at = -1;
    each_tap(w, z, y, x_taps, [&](int64_t i) {
      if (best_at >= 0 && !(image[i] > best) && image[i] == image[i]) return;
      if (best_at >= 0 && best != best) return;  // NaN stays
      best = image[i], best_at = i;
    });
    to[plane * places + place] = best;
    if (!at) return;
    int64_t index = std::max<int64_t>(best_at, 0);
    if (columns_first) {  // the last dimension is the slowest
      const int64_t d = index / (w.size[1] * w.size[2]), h = index / w.size[2] % w.size[1], i = index % w.size[2];
      index = (i * w.size[1] + h) * w.size[0] + d;
    }
    at[plane * places + place] = plane * w.in_count() + index;
  });
  run.set(0, store(out.tensor(), run.type(0)));
  if (at) run.set(1, where.tensor());
}

void max_pool_op(OpRun& run) {
  const Window w = window_of(run, run.tensor(0).shape(), {});
  if (run.tensor(0).dtype() == DType::kF32) return max_pool<float>(run, w);
  is_float(run.type(0)) ? max_pool<double>(run, w) : max_pool<int64_t>(run, w);
}

// The number of taps inside of the image and its pads.
int64_t padded_taps(const Window& w, const std::array<int64_t, 3>& out) {
  int64_t count = 1;
  for (int d = 0; d < 3; ++d) {
    const int64_t first = out[d] * w.stride[d] - w.before[d], end = w.size[d] + w.after[d];
    count *= std::clamp<int64_t>(ceil_div(end - first, w.dilation[d]), 0, w.kernel[d]);
  }
  return count;
}

void average_pool_op(OpRun& run) {
  const Window w = window_of(run, run.tensor(0).shape(), {});
  const Floats x(run.tensor(0));
  const bool counts_pads = run.get("count_include_pad", int64_t{0}) != 0;
  const int64_t places = w.out_count();
  Floats out(w.out_shape(x.shape()[0], x.shape()[1]));
  float* to = out.out();
  each_window(
      w, x.shape()[0] * x.shape()[1],
      [&](int64_t plane, int64_t place, const Taps& z, const Taps& y, const Taps& x_taps) {
        const float* image = x.data() + plane * w.in_count();
        float total = 0;
        int64_t count = 0;
        each_tap(w, z, y, x_taps, [&](int64_t i) { total += image[i], ++count; });
        if (counts_pads)
          count = padded_taps(w, {place / (w.out[1] * w.out[2]), place / w.out[2] % w.out[1], place % w.out[2]});
        to[plane * places + place] = count ? total / static_cast<float>(count) : 0;
      });
  run.set(0, store(out.tensor(), run.type(0)));
}

void lp_pool_op(OpRun& run) {
  const Window w = window_of(run, run.tensor(0).shape(), {});
  const Doubles x(run.tensor(0));
  const auto* given = run.node().find("p");
  const double p = given && given->f ? *given->f : static_cast<double>(given && given->i ? *given->i : 2);
  const int64_t places = w.out_count();
  Doubles out(w.out_shape(x.shape()[0], x.shape()[1]));
  double* to = out.out();
  each_window(w, x.shape()[0] * x.shape()[1],
              [&](int64_t plane, int64_t place, const Taps& z, const Taps& y, const Taps& x_taps) {
                double total = 0;
                each_tap(w, z, y, x_taps,
                         [&](int64_t i) { total += std::pow(std::fabs(x[plane * w.in_count() + i]), p); });
                to[plane * places + place] = std::pow(total, 1 / p);
              });
  run.set(0, store(out.tensor(), run.type(0)));
}

std::vector<int64_t> spatial_dims(const Tensor& x) {
  if (x.rank() < 3)
    throw Error(ErrorCode::kShape, cat("the input is ", x.shape(), ", expected batch, channels and more"));
  std::vector<int64_t> dims;
  for (int d = 2; d < x.rank(); ++d) dims.push_back(d);
  return dims;
}
void global_average_op(OpRun& run) { run.set(0, mean(run.tensor(0), spatial_dims(run.tensor(0)), true)); }
void global_max_op(OpRun& run) { run.set(0, max(run.tensor(0), spatial_dims(run.tensor(0)), true)); }
void global_lp_op(OpRun& run) {
  const auto* given = run.node().find("p");
  const double p = given && given->f ? *given->f : static_cast<double>(given && given->i ? *given->i : 2);
  const Value powers = map_float(run.in(0), [&](double v) { return std::pow(std::fabs(v), p); });
  const Tensor total = sum(powers.tensor(), spatial_dims(run.tensor(0)), true);
  run.set(0, map_float(Value(total), [&](double v) { return std::pow(v, 1 / p); }));
}

void max_unpool_op(OpRun& run) {
  const Tensor& x = run.tensor(0);
  const Longs places(run.tensor(1));
  const auto kernel = run.ints("kernel_shape"), pads = run.ints("pads");
  auto strides = run.ints("strides");
  const int spatial = x.rank() - 2;
  if (strides.empty()) strides.assign(kernel.size(), 1);
  if (spatial < 1 || std::ssize(kernel) != spatial || std::ssize(strides) != spatial || places.shape() != x.shape() ||
      (!pads.empty() && std::ssize(pads) != 2 * spatial)) {
    throw Error(ErrorCode::kShape, cat("x ", x.shape(), " and places ", places.shape()));
  }
  std::vector<int64_t> sizes{x.dim(0), x.dim(1)};
  for (int i = 0; i < spatial; ++i) {
    const auto steps = checked_mul(x.dim(2 + i) - 1, strides[i]);
    sizes.push_back((steps ? *steps : -1) + kernel[i] - (pads.empty() ? 0 : pads[i] + pads[i + spatial]));
  }
  // Places count in the output as pooled, which may have been larger.
  const Shape usual = shape_of(sizes), shape = run.has(2) ? shape_of(run.ints(2)) : usual;
  if (shape.rank() != usual.rank()) throw Error(ErrorCode::kShape, cat("output_shape is ", shape));
  const Doubles values(x);
  const Tensor out = zeros(shape, DType::kF64);
  const auto steps = row_strides(usual), to = row_strides(shape);
  for (int64_t i = 0; i < values.size(); ++i) {
    if (places[i] < 0 || places[i] >= usual.numel()) throw bad_input(cat("place ", places[i], " in ", usual));
    int64_t rest = places[i], at = 0;
    for (int d = 0; d < usual.rank(); ++d) {
      const int64_t index = rest / steps[d];
      rest %= steps[d];
      if (index >= shape[d]) throw bad_input(cat("place ", places[i], " lies outside of ", shape));
      at += index * to[d];
    }
    out.mutable_data<double>()[at] = values[i];
  }
  run.set(0, store(out, run.type(0)));
}

constexpr Operator kOperators[] = {
    {"AveragePool", average_pool_op, "auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides"},
    {"GlobalAveragePool", global_average_op},
    {"GlobalLpPool", global_lp_op, "p"},
    {"GlobalMaxPool", global_max_op},
    {"LpPool", lp_pool_op, "auto_pad ceil_mode dilations kernel_shape p pads strides"},
    {"MaxPool", max_pool_op, "auto_pad ceil_mode dilations kernel_shape pads storage_order strides"},
    {"MaxUnpool", max_unpool_op, "kernel_shape pads strides"},
};

}  // namespace

Operators pool_operators() { return kOperators; }

}  // namespace wick::graph
