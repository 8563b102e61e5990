#include <algorithm>
#include <numeric>
#include <vector>

#include "backends/reference/kernels.h"
#include "backends/reference/lines.h"

namespace wick::reference {

namespace {

// Fills values and indices along dim with the first entries of the stable order.
void sort_lines(const Tensor& x, int dim, bool descending, const Tensor& values, const Tensor& indices) {
  const View<int64_t> places(indices);
  visit_dtype(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const View<T> in(x), to(values);
    for_each_line(x.shape(), dim, [&](const Index& line) {
      std::vector<int64_t> order(x.dim(dim));
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
        auto a = in.get(moved(line, dim, i)), b = in.get(moved(line, dim, j));
        if (descending) std::swap(a, b);
        return a < b || (a == a && b != b);
      });
      for (int64_t i = 0; i < values.dim(dim); ++i) {
        to[moved(line, dim, i)] = in[moved(line, dim, order[i])];
        places[moved(line, dim, i)] = order[i];
      }
    });
  });
}

}  // namespace

void sort(const Tensor& x, int dim, bool descending, const Tensor& values, const Tensor& indices) {
  sort_lines(x, dim, descending, values, indices);
}

void topk(const Tensor& x, int dim, bool largest, const Tensor& values, const Tensor& indices) {
  sort_lines(x, dim, largest, values, indices);
}

}  // namespace wick::reference
