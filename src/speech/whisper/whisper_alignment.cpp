#include "speech/whisper/whisper_alignment.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace wick {
namespace {

constexpr int64_t kMedianWidth = 7;

// The median of each value and its neighbours, the row mirrored at both ends.
void smooth(const std::vector<float>& row, float* out) {
  const auto count = static_cast<int64_t>(row.size());
  constexpr int64_t kSide = kMedianWidth / 2;
  if (count <= kSide) {
    std::copy(row.begin(), row.end(), out);
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    std::array<float, kMedianWidth> near{};
    for (int64_t k = -kSide; k <= kSide; ++k) {
      int64_t at = std::abs(i + k);
      if (at >= count) at = 2 * (count - 1) - at;
      near[static_cast<size_t>(k + kSide)] = row[static_cast<size_t>(at)];
    }
    std::nth_element(near.begin(), near.begin() + kSide, near.end());
    out[i] = near[kSide];
  }
}

}  // namespace

std::vector<int64_t> warp(const std::vector<float>& costs, int64_t rows, int64_t columns) {
  enum Step : uint8_t { kBoth, kDown, kRight };
  const int64_t stride = columns + 1;
  const auto at = [&](int64_t i, int64_t j) { return static_cast<size_t>(i * stride + j); };
  std::vector<float> sums(static_cast<size_t>((rows + 1) * stride), std::numeric_limits<float>::infinity());
  std::vector<Step> steps(sums.size(), kRight);
  sums[0] = 0;
  for (int64_t i = 1; i <= rows; ++i) {
    for (int64_t j = 1; j <= columns; ++j) {
      const float both = sums[at(i - 1, j - 1)], down = sums[at(i - 1, j)], right = sums[at(i, j - 1)];
      const Step step = both < down && both < right ? kBoth : down < both && down < right ? kDown : kRight;
      steps[at(i, j)] = step;
      sums[at(i, j)] = costs[static_cast<size_t>((i - 1) * columns + j - 1)] + (step == kBoth   ? both
                                                                                : step == kDown ? down
                                                                                                : right);
    }
  }
  std::vector<int64_t> begins(static_cast<size_t>(rows), 0);
  for (int64_t i = rows, j = columns; i > 0 && j > 0;) {
    begins[static_cast<size_t>(i - 1)] = j - 1;  // the last one that is written is the first of the row
    const Step step = steps[at(i, j)];
    if (step != kRight) --i;
    if (step != kDown) --j;
  }
  return begins;
}

std::vector<int64_t> align_rows(const Tensor& looks, int64_t first, int64_t end) {
  const int64_t heads = looks.dim(0), rows = looks.dim(1), positions = looks.dim(2), count = end - first;
  std::vector<float> costs(static_cast<size_t>(count * positions), 0.0f);
  std::vector<double> mean(static_cast<size_t>(positions)), spread(mean.size());
  std::vector<float> row(mean.size()), smoothed(mean.size());
  for (int64_t h = 0; h < heads; ++h) {
    const float* head = looks.data<float>() + h * rows * positions;
    for (int64_t p = 0; p < positions; ++p) {
      double sum = 0, squares = 0;
      for (int64_t r = 0; r < rows; ++r) sum += head[r * positions + p];
      const double middle = sum / static_cast<double>(rows);
      for (int64_t r = 0; r < rows; ++r) squares += std::pow(head[r * positions + p] - middle, 2);
      mean[static_cast<size_t>(p)] = middle;
      spread[static_cast<size_t>(p)] = std::max(std::sqrt(squares / static_cast<double>(rows)), 1e-12);
    }
    for (int64_t r = first; r < end; ++r) {
      for (size_t p = 0; p < row.size(); ++p) {
        row[p] = static_cast<float>((head[r * positions + static_cast<int64_t>(p)] - mean[p]) / spread[p]);
      }
      smooth(row, smoothed.data());
      float* to = costs.data() + (r - first) * positions;
      for (size_t p = 0; p < row.size(); ++p) to[p] -= smoothed[p] / static_cast<float>(heads);
    }
  }
  return warp(costs, count, positions);
}

}  // namespace wick
