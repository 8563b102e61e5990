#include "media/image/resize_weights.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace wick {
namespace {

template <typename T>
T sinc(T x) {
  if (x == 0) return 1;
  x *= std::numbers::pi_v<T>;
  return std::sin(x) / x;
}

template <typename T>
T support_of(ResizeFilter filter) {
  switch (filter) {
    case ResizeFilter::kNearest:
    case ResizeFilter::kBox: return T(0.5);
    case ResizeFilter::kBilinear:
    case ResizeFilter::kHamming: return 1;
    case ResizeFilter::kBicubic: return 2;
    case ResizeFilter::kLanczos: return 3;
  }
  throw Error(ErrorCode::kInternal, "no such resize filter");
}

template <typename T>
T filter_at(ResizeFilter filter, T x) {
  if (filter == ResizeFilter::kBox || filter == ResizeFilter::kNearest) return x > T(-0.5) && x <= T(0.5) ? 1 : 0;
  x = std::abs(x);
  switch (filter) {
    case ResizeFilter::kBilinear: return x < 1 ? 1 - x : 0;
    case ResizeFilter::kHamming:
      if (x >= 1) return 0;
      if (x == 0) return 1;
      return sinc(x) * (T(0.54f) + T(0.46f) * std::cos(x * std::numbers::pi_v<T>));  // Pillow's constants are floats
    case ResizeFilter::kBicubic: {                                                   // Catmull-Rom
      constexpr T a = T(-0.5);
      if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
      return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
    }
    default: return x < 3 ? sinc(x) * sinc(x / 3) : 0;
  }
}

template <typename T>
struct Weights {
  std::vector<int> begin, taps;
  std::vector<T> weights;
  int stride = 0;
};

// In the order of operations that Pillow and torch share, on which the last bit depends.
template <typename T>
Weights<T> compute(int size, int new_size, ResizeFilter filter) {
  const T scale = static_cast<T>(size) / static_cast<T>(new_size);
  const T widened = std::max<T>(scale, 1);
  const T support = support_of<T>(filter) * widened, inverse = 1 / widened;
  Weights<T> out;
  out.stride = static_cast<int>(std::ceil(support)) * 2 + 1;
  out.begin.resize(static_cast<size_t>(new_size));
  out.taps.resize(static_cast<size_t>(new_size));
  out.weights.assign(static_cast<size_t>(new_size) * static_cast<size_t>(out.stride), 0);
  for (int i = 0; i < new_size; ++i) {
    const T centre = (static_cast<T>(i) + T(0.5)) * scale;
    const int begin = std::max(0, static_cast<int>(centre - support + T(0.5)));
    const int end = std::min(size, static_cast<int>(centre + support + T(0.5)));
    const int taps = std::clamp(end - begin, 0, out.stride);
    T* weights = out.weights.data() + static_cast<size_t>(i) * static_cast<size_t>(out.stride);
    T total = 0;
    for (int k = 0; k < taps; ++k) {
      weights[k] = filter_at<T>(filter, (static_cast<T>(k + begin) - centre + T(0.5)) * inverse);
      total += weights[k];
    }
    for (int k = 0; k < taps && total != 0; ++k) weights[k] /= total;
    out.begin[static_cast<size_t>(i)] = begin;
    out.taps[static_cast<size_t>(i)] = taps;
  }
  return out;
}

// The most bits behind the point with which the largest weight fits 16 bits.
int precision_of_16_bits(const std::vector<double>& weights) {
  const double largest = *std::max_element(weights.begin(), weights.end());
  int precision = 0;
  while (precision < 22 && static_cast<int>(0.5 + largest * (1 << (precision + 1))) < 1 << 15) ++precision;
  return precision;
}

}  // namespace

ResizeWeights resize_weights(int size, int new_size, ResizeFilter filter, ResizeArithmetic arithmetic) {
  Weights<double> exact = compute<double>(size, new_size, filter);
  ResizeWeights out;
  out.precision = arithmetic == ResizeArithmetic::kPillow ? 22 : precision_of_16_bits(exact.weights);
  out.begin = std::move(exact.begin);
  out.taps = std::move(exact.taps);
  out.stride = exact.stride;
  out.weights.reserve(exact.weights.size());
  for (const double weight : exact.weights) {
    out.weights.push_back(static_cast<int32_t>((weight < 0 ? -0.5 : 0.5) + weight * (1 << out.precision)));
  }
  return out;
}

FloatResizeWeights float_resize_weights(int size, int new_size, ResizeFilter filter) {
  Weights<float> computed = compute<float>(size, new_size, filter);
  return {std::move(computed.begin), std::move(computed.taps), std::move(computed.weights), computed.stride};
}

}  // namespace wick
