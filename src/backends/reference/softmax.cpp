#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/reference/kernels.h"
#include "backends/reference/lines.h"

namespace wick::reference {

namespace {

// Subtracts the maximum, so that e^x cannot overflow; returns log(sum(e^x)).
double log_sum_exp(const FloatView& in, const Index& line, int dim, int64_t size) {
  double most = -std::numeric_limits<double>::infinity(), total = 0;
  for (int64_t i = 0; i < size; ++i) most = std::max(most, in.get(moved(line, dim, i)));
  for (int64_t i = 0; i < size; ++i) total += std::exp(in.get(moved(line, dim, i)) - most);
  return most + std::log(total);
}

}  // namespace

void softmax(const Tensor& x, int dim, const Tensor& out) {
  const FloatView in(x), to(out);
  for_each_line(x.shape(), dim, [&](const Index& line) {
    const double norm = log_sum_exp(in, line, dim, x.dim(dim));
    for (int64_t i = 0; i < x.dim(dim); ++i) {
      to.set(moved(line, dim, i), std::exp(in.get(moved(line, dim, i)) - norm));
    }
  });
}

void log_softmax(const Tensor& x, int dim, const Tensor& out) {
  const FloatView in(x), to(out);
  for_each_line(x.shape(), dim, [&](const Index& line) {
    const double norm = log_sum_exp(in, line, dim, x.dim(dim));
    for (int64_t i = 0; i < x.dim(dim); ++i) to.set(moved(line, dim, i), in.get(moved(line, dim, i)) - norm);
  });
}

}  // namespace wick::reference
