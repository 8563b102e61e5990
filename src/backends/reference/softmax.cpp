#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/reference/kernels.h"
#include "backends/reference/lines.h"

namespace wick::reference {

namespace {

struct LogSum {
  double most = -std::numeric_limits<double>::infinity();
  double total = 0;  // of e^(x - most), which cannot overflow
};

LogSum log_sum(const FloatView& in, const Index& line, int dim, int64_t size) {
  LogSum sum;
  for (int64_t i = 0; i < size; ++i) sum.most = std::max(sum.most, in.get(moved(line, dim, i)));
  for (int64_t i = 0; i < size; ++i) sum.total += std::exp(in.get(moved(line, dim, i)) - sum.most);
  return sum;
}

}  // namespace

void softmax(const Tensor& x, int dim, const Tensor& out) {
  const FloatView in(x), to(out);
  for_each_line(x.shape(), dim, [&](const Index& line) {
    const LogSum sum = log_sum(in, line, dim, x.dim(dim));
    for (int64_t i = 0; i < x.dim(dim); ++i) {
      const Index place = moved(line, dim, i);
      to.set(place, std::exp(in.get(place) - sum.most) / sum.total);
    }
  });
}

void log_softmax(const Tensor& x, int dim, const Tensor& out) {
  const FloatView in(x), to(out);
  for_each_line(x.shape(), dim, [&](const Index& line) {
    const LogSum sum = log_sum(in, line, dim, x.dim(dim));
    for (int64_t i = 0; i < x.dim(dim); ++i) {
      const Index place = moved(line, dim, i);
      to.set(place, in.get(place) - sum.most - std::log(sum.total));
    }
  });
}

}  // namespace wick::reference
