#include <cmath>

#include "backends/reference/kernels.h"
#include "backends/reference/lines.h"

namespace wick::reference {

namespace {

double at(const Tensor& vector, int64_t i, double fallback) {
  return vector.defined() ? FloatView(vector).get({i}) : fallback;
}

}  // namespace

void layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, float eps, const Tensor& out) {
  const FloatView in(x), to(out);
  const int dim = x.rank() - 1;
  const int64_t size = x.dim(dim);
  for_each_line(x.shape(), dim, [&](const Index& line) {
    double mean = 0, square = 0;
    for (int64_t i = 0; i < size; ++i) mean += in.get(moved(line, dim, i));
    mean /= static_cast<double>(size);
    for (int64_t i = 0; i < size; ++i) {
      const double distance = in.get(moved(line, dim, i)) - mean;
      square += distance * distance;
    }
    const double inverse = 1 / std::sqrt(square / static_cast<double>(size) + static_cast<double>(eps));
    for (int64_t i = 0; i < size; ++i) {
      const double normal = (in.get(moved(line, dim, i)) - mean) * inverse;
      to.set(moved(line, dim, i), normal * at(weight, i, 1) + at(bias, i, 0));
    }
  });
}

void rms_norm(const Tensor& x, const Tensor& weight, float eps, const Tensor& out) {
  const FloatView in(x), to(out);
  const int dim = x.rank() - 1;
  const int64_t size = x.dim(dim);
  for_each_line(x.shape(), dim, [&](const Index& line) {
    double square = 0;
    for (int64_t i = 0; i < size; ++i) square += in.get(moved(line, dim, i)) * in.get(moved(line, dim, i));
    const double inverse = 1 / std::sqrt(square / static_cast<double>(size) + static_cast<double>(eps));
    for (int64_t i = 0; i < size; ++i) {
      to.set(moved(line, dim, i), in.get(moved(line, dim, i)) * inverse * at(weight, i, 1));
    }
  });
}

}  // namespace wick::reference
