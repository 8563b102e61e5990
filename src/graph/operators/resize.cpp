#include <algorithm>
#include <cmath>

#include "base/thread_pool.h"
#include "graph/numbers.h"
#include "graph/operators.h"
#include "ops/binary.h"
#include "ops/compare.h"
#include "ops/index.h"
#include "ops/view.h"

namespace wick::graph {
namespace {

struct ResizeWay {
  std::string mode, coordinates, nearest, policy;
  double cubic = -0.75, extrapolation = 0;
  bool exclude_outside = false, antialias = false;
};

// What one element of the output is made of along one dimension.
struct Mix {
  std::vector<int64_t> places;
  std::vector<double> weights;
  bool outside = false;  // tf_crop_and_resize: the extrapolation value
};

double source_place(const ResizeWay& way, int64_t at, int64_t in, int64_t out, double scale, double start, double end) {
  const auto x = static_cast<double>(at), length = static_cast<double>(in), resized = scale * length;
  if (way.coordinates == "half_pixel") return (x + 0.5) / scale - 0.5;
  if (way.coordinates == "half_pixel_symmetric") {
    const double adjustment = static_cast<double>(out) / resized, center = length / 2;
    return center * (1 - adjustment) + (x + 0.5) / scale - 0.5;
  }
  if (way.coordinates == "pytorch_half_pixel") return out > 1 ? (x + 0.5) / scale - 0.5 : 0;
  if (way.coordinates == "align_corners") return out > 1 ? x * (length - 1) / (resized - 1) : 0;
  if (way.coordinates == "asymmetric") return x / scale;
  if (way.coordinates == "tf_half_pixel_for_nn") return (x + 0.5) / scale;
  if (way.coordinates == "tf_crop_and_resize") {
    return out > 1 ? start * (length - 1) + x * (end - start) * (length - 1) / static_cast<double>(out - 1)
                   : 0.5 * (start + end) * (length - 1);
  }
  throw not_offered(cat("coordinate_transformation_mode is '", way.coordinates, "'"));
}

double cubic_weight(double x, double a) {
  x = std::fabs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

Mix mix_at(const ResizeWay& way, int64_t at, int64_t in, int64_t out, double scale, double start, double end) {
  Mix mix;
  const double place = source_place(way, at, in, out, scale, start, end);
  if (way.coordinates == "tf_crop_and_resize" && (place < 0 || place > static_cast<double>(in - 1))) mix.outside = true;
  if (way.mode == "nearest") {
    double whole = 0;
    if (way.nearest == "round_prefer_floor") {
      whole = std::ceil(place - 0.5);
    } else if (way.nearest == "round_prefer_ceil") {
      whole = std::floor(place + 0.5);
    } else if (way.nearest == "floor") {
      whole = std::floor(place);
    } else if (way.nearest == "ceil") {
      whole = std::ceil(place);
    } else {
      throw not_offered(cat("nearest_mode is '", way.nearest, "'"));
    }
    mix.places = {static_cast<int64_t>(std::clamp(whole, 0.0, static_cast<double>(in - 1)))};
    mix.weights = {1};
    return mix;
  }
  // Shrinking with antialias stretches the filter over all that falls into one pixel.
  const double stretch = way.antialias && scale < 1 ? scale : 1, support = (way.mode == "cubic" ? 2.0 : 1.0) / stretch;
  const auto first = static_cast<int64_t>(std::floor(place - support)) + 1,
             last = static_cast<int64_t>(std::ceil(place + support)) - 1;
  double total = 0;
  for (int64_t i = first; i <= last; ++i) {
    const double distance = (place - static_cast<double>(i)) * stretch;
    double weight = way.mode == "cubic" ? cubic_weight(distance, way.cubic) : std::max(0.0, 1 - std::fabs(distance));
    const bool inside = i >= 0 && i < in;
    if (!inside && way.exclude_outside) weight = 0;
    total += weight;
    mix.places.push_back(std::clamp<int64_t>(i, 0, in - 1));
    mix.weights.push_back(weight);
  }
  if ((way.exclude_outside || way.antialias) && total != 0) {
    for (double& weight : mix.weights) weight /= total;
  }
  return mix;
}

// One dimension after the other.
Tensor resize_dim(const Tensor& x, int dim, int64_t out_size, const ResizeWay& way, double scale, double start,
                  double end, Tensor& outside) {
  const int64_t in_size = x.dim(dim), inner = inner_size(x.shape(), dim), outer = outer_size(x.shape(), dim);
  if (out_size > 1 << 24) throw not_offered(cat("a dimension of ", out_size));
  std::vector<Mix> mixes;
  for (int64_t i = 0; i < out_size; ++i) mixes.push_back(mix_at(way, i, in_size, out_size, scale, start, end));
  if (way.coordinates == "tf_crop_and_resize") {
    Tensor marks = zeros({out_size}, DType::kU8);
    for (int64_t i = 0; i < out_size; ++i) marks.mutable_data<uint8_t>()[i] = mixes[i].outside;
    for (int d = dim + 1; d < x.rank(); ++d) marks = unsqueeze(marks, -1);
    outside = marks;
  }
  if (way.mode == "nearest") {
    std::vector<int64_t> places;
    for (const Mix& mix : mixes) places.push_back(mix.places[0]);
    return index_select(x, dim, longs(places));
  }
  const Floats from(x);
  Floats out(x.shape().with(dim, out_size));
  float* to = out.out();
  parallel_for(outer * out_size, std::max<int64_t>(1, 4096 / std::max<int64_t>(inner, 1)),
               [&](int64_t begin, int64_t stop) {
                 for (int64_t row = begin; row < stop; ++row) {
                   const Mix& mix = mixes[row % out_size];
                   for (int64_t i = 0; i < inner; ++i) {
                     double total = 0;
                     for (size_t tap = 0; tap < mix.places.size(); ++tap) {
                       total += mix.weights[tap] * from[(row / out_size * in_size + mix.places[tap]) * inner + i];
                     }
                     to[row * inner + i] = static_cast<float>(total);
                   }
                 }
               });
  return out.tensor();
}

void resize_op(OpRun& run) {
  const Tensor& x = run.tensor(0);
  const bool old = run.opset() < 11 || run.node().op == "Upsample";
  ResizeWay way;
  way.mode = run.get("mode", "nearest");
  if (way.mode == "bilinear" || way.mode == "trilinear") way.mode = "linear";
  if (way.mode != "nearest" && way.mode != "linear" && way.mode != "cubic")
    throw not_offered(cat("mode is '", way.mode, "'"));
  way.coordinates = run.get("coordinate_transformation_mode", old ? "asymmetric" : "half_pixel");
  way.nearest = run.get("nearest_mode", old ? "floor" : "round_prefer_floor");
  way.policy = run.get("keep_aspect_ratio_policy", "stretch");
  way.cubic = run.get("cubic_coeff_a", -0.75f);
  way.extrapolation = run.get("extrapolation_value", 0.0f);
  way.exclude_outside = run.get("exclude_outside", int64_t{0}) != 0;
  way.antialias = run.get("antialias", int64_t{0}) != 0;
  std::vector<int64_t> axes;
  if (run.has("axes")) {
    for (const int64_t axis : run.ints("axes")) axes.push_back(axis_of(axis, x.rank()));
  } else {
    for (int d = 0; d < x.rank(); ++d) axes.push_back(d);
  }
  const int scale_input = old ? 1 : 2;
  std::vector<float> scales = run.floats("scales");
  if (run.has("height_scale")) scales = {1, 1, run.get("height_scale", 1.0f), run.get("width_scale", 1.0f)};
  if (run.has(scale_input)) scales = run.tensor(scale_input).to_vector<float>();
  std::vector<int64_t> sizes;
  if (!old && run.has(3)) sizes = run.ints(3);
  if (scales.empty() == sizes.empty() || (scales.empty() ? sizes.size() : scales.size()) != axes.size()) {
    throw Error(ErrorCode::kShape,
                cat(scales.size(), " scales and ", sizes.size(), " sizes for ", axes.size(), " axes"));
  }
  std::vector<double> factors;
  for (const float scale : scales) factors.push_back(scale);
  for (size_t i = 0; i < sizes.size(); ++i)
    factors.push_back(static_cast<double>(sizes[i]) / static_cast<double>(x.dim(static_cast<int>(axes[i]))));
  if (!sizes.empty() && way.policy != "stretch") {
    const double factor = way.policy == "not_larger" ? *std::min_element(factors.begin(), factors.end())
                                                     : *std::max_element(factors.begin(), factors.end());
    for (size_t i = 0; i < sizes.size(); ++i) {
      factors[i] = factor;
      sizes[i] = static_cast<int64_t>(std::floor(factor * static_cast<double>(x.dim(static_cast<int>(axes[i]))) + 0.5));
    }
  }
  std::vector<float> region = !old && run.has(1) ? run.tensor(1).to_vector<float>() : std::vector<float>();
  if (way.coordinates == "tf_crop_and_resize" && region.size() != 2 * axes.size())
    throw Error(ErrorCode::kShape, cat("roi has ", region.size(), " numbers for ", axes.size(), " axes"));
  if (region.size() != 2 * axes.size()) region.assign(2 * axes.size(), 0);
  // All sizes are checked before anything is made.
  std::vector<int64_t> target(x.shape().begin(), x.shape().end());
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto d = static_cast<int>(axes[i]);
    const double size =
        sizes.empty() ? std::floor(static_cast<double>(x.dim(d)) * factors[i]) : static_cast<double>(sizes[i]);
    if (!(size >= 0 && size < 0x1p31) || !(factors[i] > 0) || x.dim(d) == 0)
      throw Error(ErrorCode::kShape, cat("dimension ", d, " of ", x.shape(), " by ", factors[i]));
    target[d] = static_cast<int64_t>(size);
  }
  static_cast<void>(shape_of(target));
  Tensor out = x;
  std::vector<Tensor> hidden;  // per dimension: what lies outside
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto d = static_cast<int>(axes[i]);
    const bool crops = way.coordinates == "tf_crop_and_resize";
    if (target[d] == x.dim(d) && (crops ? region[i] == 0 && region[i + axes.size()] == 1 : factors[i] == 1)) continue;
    Tensor outside;
    out = resize_dim(out, d, target[d], way, factors[i], region[i], region[i + axes.size()], outside);
    if (outside.defined()) hidden.push_back(outside);
  }
  for (const Tensor& marks : hidden) out = where(marks, scalar(way.extrapolation, out.dtype()), out);
  run.set(0, store(out, run.type(0)));
}

// --- Sampling at places that a tensor gives ---

double reflected(double x, double low, double high) {
  const double range = high - low;
  if (range <= 0) return low;
  double distance = std::fmod(std::fabs(x - low), 2 * range);
  if (!std::isfinite(distance)) distance = 0;
  return low + (distance <= range ? distance : 2 * range - distance);
}

void grid_sample_op(OpRun& run) {
  const Doubles x(run.tensor(0)), grid(run.tensor(1));
  std::string mode = run.get("mode", "linear");
  if (mode == "bilinear") mode = "linear";
  if (mode == "bicubic") mode = "cubic";
  const std::string padding = run.get("padding_mode", "zeros");
  const bool corners = run.get("align_corners", int64_t{0}) != 0;
  const int spatial = x.shape().rank() - 2;
  if (spatial < 1 || spatial > 3 || grid.shape().rank() != spatial + 2 || grid.shape().back() != spatial ||
      grid.shape()[0] != x.shape()[0]) {
    throw Error(ErrorCode::kShape, cat("x is ", x.shape(), ", grid ", grid.shape()));
  }
  if (mode != "linear" && mode != "cubic" && mode != "nearest") throw not_offered(cat("mode is '", mode, "'"));
  if (padding != "zeros" && padding != "border" && padding != "reflection")
    throw not_offered(cat("padding_mode is '", padding, "'"));
  const int64_t batch = x.shape()[0], channels = x.shape()[1];
  std::vector<int64_t> sizes{batch, channels};
  int64_t places = 1, volume = 1;
  for (int d = 0; d < spatial; ++d) {
    sizes.push_back(grid.shape()[1 + d]);
    places *= grid.shape()[1 + d];
    volume *= x.shape()[2 + d];
  }
  if (volume == 0) throw Error(ErrorCode::kShape, cat("x is ", x.shape()));
  Doubles out(shape_of(sizes));
  const int reach = mode == "cubic" ? 4 : mode == "linear" ? 2 : 1;
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t place = 0; place < places; ++place) {
      int64_t first[3] = {};
      double weights[3][4] = {{1, 0, 0, 0}, {1, 0, 0, 0}, {1, 0, 0, 0}};
      for (int d = 0; d < spatial; ++d) {
        const auto size = static_cast<double>(x.shape()[2 + d]);
        // The grid names the last dimension first: x, y, z.
        double at = grid[(b * places + place) * spatial + (spatial - 1 - d)];
        at = corners ? (at + 1) / 2 * (size - 1) : ((at + 1) * size - 1) / 2;
        const double low = corners ? 0 : -0.5, high = corners ? size - 1 : size - 0.5;
        if (!std::isfinite(at)) at = -1;
        if (mode == "nearest") at = std::nearbyint(at);
        if (mode != "cubic" && padding == "border") at = std::clamp(at, 0.0, size - 1);
        if (mode != "cubic" && padding == "reflection" && (at < low || at > high)) at = reflected(at, low, high);
        if (mode == "nearest") at = std::nearbyint(at);
        at = std::clamp(at, -0x1p40, 0x1p40);
        const double whole = std::floor(at), fraction = at - whole;
        first[d] = static_cast<int64_t>(whole) - (mode == "cubic" ? 1 : 0);
        if (mode == "linear") weights[d][0] = 1 - fraction, weights[d][1] = fraction;
        if (mode == "cubic") {
          for (int tap = 0; tap < 4; ++tap) weights[d][tap] = cubic_weight(fraction - (tap - 1), -0.75);
        }
      }
      for (int64_t c = 0; c < channels; ++c) {
        const double* image = x.data() + (b * channels + c) * volume;
        double total = 0;
        int64_t taps = 1;
        for (int d = 0; d < spatial; ++d) taps *= reach;
        for (int64_t tap = 0; tap < taps; ++tap) {
          int64_t rest = tap, index = 0, steps = 1;
          double weight = 1;
          bool inside = true;
          for (int d = spatial - 1; d >= 0; --d) {
            const int64_t size = x.shape()[2 + d], offset = rest % reach;
            rest /= reach;
            int64_t at = first[d] + offset;
            weight *= weights[d][offset];
            if (at < 0 || at >= size) {
              if (padding == "zeros") inside = false;
              if (padding == "border") at = std::clamp<int64_t>(at, 0, size - 1);
              if (padding == "reflection") {
                const double low = corners ? 0 : -0.5,
                             high = corners ? static_cast<double>(size - 1) : static_cast<double>(size) - 0.5;
                at = std::clamp<int64_t>(static_cast<int64_t>(reflected(static_cast<double>(at), low, high)), 0,
                                         size - 1);
              }
            }
            index += at * steps;
            steps *= size;
          }
          if (inside) total += weight * image[index];
        }
        out.out()[(b * channels + c) * places + place] = total;
      }
    }
  }
  run.set(0, store(out.tensor(), run.type(0)));
}

// Places of a regular grid under an affine map, for GridSample.
void affine_grid_op(OpRun& run) {
  const Doubles theta(run.tensor(0));
  const auto sizes = run.ints(1);
  const bool corners = run.get("align_corners", int64_t{0}) != 0;
  const auto spatial = static_cast<int>(sizes.size()) - 2;
  if ((spatial != 2 && spatial != 3) || theta.shape() != Shape{sizes[0], spatial, spatial + 1})
    throw Error(ErrorCode::kShape, cat("theta is ", theta.shape(), " for ", sizes.size(), " sizes"));
  std::vector<int64_t> shape{sizes[0]};
  for (int d = 0; d < spatial; ++d) shape.push_back(sizes[2 + d]);
  shape.push_back(spatial);
  Doubles out(shape_of(shape));
  const int64_t places = sizes[0] ? out.size() / sizes[0] / spatial : 0;
  for (int64_t i = 0; i < sizes[0] * places; ++i) {
    double at[4] = {0, 0, 0, 1};  // x, y, z, 1
    int64_t rest = i % places;
    for (int d = spatial - 1; d >= 0; --d) {
      const int64_t size = sizes[2 + d], index = rest % size;
      rest /= size;
      const auto length = static_cast<double>(size);
      at[spatial - 1 - d] = corners ? (size > 1 ? 2 * static_cast<double>(index) / (length - 1) - 1 : 0)
                                    : (2 * static_cast<double>(index) + 1) / length - 1;
    }
    at[spatial] = 1;
    for (int row = 0; row < spatial; ++row) {
      double total = 0;
      for (int column = 0; column <= spatial; ++column)
        total += theta[(i / places * spatial + row) * (spatial + 1) + column] * at[column];
      out.out()[i * spatial + row] = total;
    }
  }
  run.set(0, store(out.tensor(), run.type(0)));
}

constexpr Operator kOperators[] = {
    {"AffineGrid", affine_grid_op, "align_corners"},
    {"GridSample", grid_sample_op, "align_corners mode padding_mode"},
    {"Resize", resize_op,
     "antialias axes coordinate_transformation_mode cubic_coeff_a exclude_outside extrapolation_value "
     "keep_aspect_ratio_policy mode nearest_mode"},
    {"Upsample", resize_op, "mode scales height_scale width_scale"},
};

}  // namespace

Operators resize_operators() { return kOperators; }

}  // namespace wick::graph
