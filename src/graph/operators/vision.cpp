#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/numbers.h"
#include "graph/operators.h"
#include "ops/view.h"

namespace wick::graph {
namespace {

struct Box {
  double y1, x1, y2, x2;
  double area() const { return (y2 - y1) * (x2 - x1); }
};

double overlap(const Box& a, const Box& b) {
  const double height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1),
               width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  if (height <= 0 || width <= 0 || a.area() <= 0 || b.area() <= 0) return 0;
  return height * width / (a.area() + b.area() - height * width);
}

void non_max_suppression_op(OpRun& run) {
  const Floats boxes(run.tensor(0)), scores(run.tensor(1));
  if (boxes.shape().rank() != 3 || scores.shape().rank() != 3 || boxes.shape().back() != 4 ||
      boxes.shape()[0] != scores.shape()[0] || boxes.shape()[1] != scores.shape()[2]) {
    throw Error(ErrorCode::kShape, cat("boxes are ", boxes.shape(), ", scores ", scores.shape()));
  }
  const int64_t most = run.has(2) ? run.int_at(2) : 0, count = boxes.shape()[1], classes = scores.shape()[1];
  const double limit = run.has(3) ? run.number_at(3) : 0,
               least = run.has(4) ? run.number_at(4) : -std::numeric_limits<double>::infinity();
  const bool centred = run.get("center_point_box", int64_t{0}) != 0;
  std::vector<int64_t> chosen;
  for (int64_t batch = 0; batch < boxes.shape()[0]; ++batch) {
    std::vector<Box> all;
    for (int64_t i = 0; i < count; ++i) {
      const float* b = boxes.data() + (batch * count + i) * 4;
      if (centred) {
        all.push_back({b[1] - b[3] / 2.0, b[0] - b[2] / 2.0, b[1] + b[3] / 2.0, b[0] + b[2] / 2.0});
      } else {
        all.push_back({std::min(b[0], b[2]), std::min(b[1], b[3]), std::max(b[0], b[2]), std::max(b[1], b[3])});
      }
    }
    for (int64_t c = 0; c < classes; ++c) {
      const float* score = scores.data() + (batch * classes + c) * count;
      std::vector<int64_t> order, kept;
      for (int64_t i = 0; i < count; ++i) {
        if (score[i] > least) order.push_back(i);
      }
      std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return score[a] > score[b]; });
      for (const int64_t i : order) {
        if (std::ssize(kept) >= most) break;
        if (std::any_of(kept.begin(), kept.end(), [&](int64_t other) { return overlap(all[i], all[other]) > limit; }))
          continue;
        kept.push_back(i);
        chosen.insert(chosen.end(), {batch, c, i});
      }
    }
  }
  run.set(0, reshape(longs(chosen), {std::ssize(chosen) / 3, 3}));
}

// Four pixels around a place of one plane, or nothing far outside.
double bilinear(const float* plane, int64_t height, int64_t width, double y, double x) {
  if (!(y >= -1 && y <= static_cast<double>(height) && x >= -1 && x <= static_cast<double>(width))) return 0;
  y = std::max(y, 0.0), x = std::max(x, 0.0);
  const int64_t top = std::min(static_cast<int64_t>(y), height - 1),
                left = std::min(static_cast<int64_t>(x), width - 1);
  const int64_t bottom = std::min(top + 1, height - 1), right = std::min(left + 1, width - 1);
  const double fy = top == height - 1 ? 0 : y - static_cast<double>(top),
               fx = left == width - 1 ? 0 : x - static_cast<double>(left);
  return (1 - fy) * ((1 - fx) * plane[top * width + left] + fx * plane[top * width + right]) +
         fy * ((1 - fx) * plane[bottom * width + left] + fx * plane[bottom * width + right]);
}

void roi_align_op(OpRun& run) {
  const Floats x(run.tensor(0)), regions(run.tensor(1));
  const auto batches = run.ints(2);
  if (x.shape().rank() != 4 || regions.shape().rank() != 2 || regions.shape()[1] != 4 ||
      std::ssize(batches) != regions.shape()[0])
    throw Error(ErrorCode::kShape, cat("x is ", x.shape(), ", regions ", regions.shape()));
  const int64_t rows = run.get("output_height", int64_t{1}), columns = run.get("output_width", int64_t{1}),
                channels = x.shape()[1], height = x.shape()[2], width = x.shape()[3];
  const int64_t ratio = run.get("sampling_ratio", int64_t{0});
  const double scale = run.get("spatial_scale", 1.0f);
  const std::string mode = run.get("mode", "avg");
  const bool half =
      run.get("coordinate_transformation_mode", run.opset() < 16 ? "output_half_pixel" : "half_pixel") == "half_pixel";
  if (rows < 1 || columns < 1 || ratio < 0 || ratio > 1024 || height < 1 || width < 1 ||
      (mode != "avg" && mode != "max"))
    throw bad_input("output sizes, sampling_ratio or mode");
  Floats out(Shape{regions.shape()[0], channels, rows, columns});
  for (int64_t r = 0; r < regions.shape()[0]; ++r) {
    if (batches[r] < 0 || batches[r] >= x.shape()[0]) throw bad_input(cat("batch ", batches[r], " of ", x.shape()[0]));
    const float* region = regions.data() + r * 4;
    const double shift = half ? 0.5 : 0, left = region[0] * scale - shift, top = region[1] * scale - shift;
    double wide = region[2] * scale - shift - left, high = region[3] * scale - shift - top;
    if (!half) wide = std::max(wide, 1.0), high = std::max(high, 1.0);
    const double step_y = high / static_cast<double>(rows), step_x = wide / static_cast<double>(columns);
    const auto samples = [&](double step) {
      if (!(std::fabs(step) < 1e4)) throw bad_input("a region is too large");
      return ratio > 0 ? ratio : std::max<int64_t>(static_cast<int64_t>(std::ceil(step)), 1);
    };
    const int64_t ny = samples(step_y), nx = samples(step_x);
    for (int64_t c = 0; c < channels; ++c) {
      const float* plane = x.data() + (batches[r] * channels + c) * height * width;
      for (int64_t place = 0; place < rows * columns; ++place) {
        double total = 0, best = -std::numeric_limits<double>::infinity();
        for (int64_t i = 0; i < ny * nx; ++i) {
          const double y = top + (static_cast<double>(place / columns) +
                                  (static_cast<double>(i / nx) + 0.5) / static_cast<double>(ny)) *
                                     step_y;
          const double w = left + (static_cast<double>(place % columns) +
                                   (static_cast<double>(i % nx) + 0.5) / static_cast<double>(nx)) *
                                      step_x;
          const double value = bilinear(plane, height, width, y, w);
          total += value;
          best = std::max(best, value);
        }
        out.out()[(r * channels + c) * rows * columns + place] =
            static_cast<float>(mode == "max" ? best : total / static_cast<double>(ny * nx));
      }
    }
  }
  run.set(0, store(out.tensor(), run.type(0)));
}

constexpr Operator kOperators[] = {
    {"NonMaxSuppression", non_max_suppression_op, "center_point_box"},
    {"RoiAlign", roi_align_op,
     "coordinate_transformation_mode mode output_height output_width sampling_ratio spatial_scale"},
};

}  // namespace

Operators vision_operators() { return kOperators; }

}  // namespace wick::graph
