#include <vector>

#include "backends/reference/kernels.h"
#include "backends/reference/walk.h"

namespace wick::reference {

namespace {

// The position in a tensor with size 1 in reduced dims that an element of x belongs to.
Index target_index(const Index& index, const Tensor& out) {
  Index target = index;
  for (int d = 0; d < out.rank(); ++d) {
    if (out.dim(d) == 1) target[d] = 0;
  }
  return target;
}

template <typename Wide>
void combine(ReduceOp op, Wide& total, Wide value, bool first) {
  switch (op) {
    case ReduceOp::kSum:
    case ReduceOp::kMean: total += value; break;
    case ReduceOp::kMax: total = first || value != value || value > total ? value : total; break;
    case ReduceOp::kMin: total = first || value != value || value < total ? value : total; break;
  }
}

}  // namespace

void reduce(ReduceOp op, const Tensor& x, const Tensor& out) {
  if (out.numel() == 0) return;
  visit_dtype(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const View<T> in(x);
    const int64_t count = x.numel() / out.numel();
    std::vector<Wide<T>> totals(out.numel(), 0);
    std::vector<bool> started(out.numel(), false);
    for_each_index(x.shape(), [&](const Index& i) {
      const int64_t slot = offset_of(out, target_index(i, out));
      // Once NaN, a maximum stays NaN.
      if (totals[slot] == totals[slot]) combine(op, totals[slot], in.get(i), !started[slot]);
      started[slot] = true;
    });
    visit_dtype(out.dtype(), [&](auto result) {
      auto* to = reinterpret_cast<decltype(result)*>(out.raw());
      for (int64_t i = 0; i < out.numel(); ++i) {
        if (op == ReduceOp::kMean) {
          to[i] = convert<decltype(result)>(static_cast<double>(totals[i]) / static_cast<double>(count));
        } else {
          to[i] = convert<decltype(result)>(totals[i]);
        }
      }
    });
  });
}

void variance(const Tensor& x, int64_t correction, const Tensor& out) {
  if (out.numel() == 0) return;
  const int64_t count = x.numel() / out.numel();
  const FloatView in(x);
  std::vector<double> means(out.numel(), 0), squares(out.numel(), 0);
  for_each_index(x.shape(), [&](const Index& i) { means[offset_of(out, target_index(i, out))] += in.get(i); });
  for (double& mean : means) mean /= static_cast<double>(count);
  for_each_index(x.shape(), [&](const Index& i) {
    const int64_t slot = offset_of(out, target_index(i, out));
    const double distance = in.get(i) - means[slot];
    squares[slot] += distance * distance;
  });
  visit_dtype(out.dtype(), [&](auto zero) {
    auto* to = reinterpret_cast<decltype(zero)*>(out.raw());
    for (int64_t i = 0; i < out.numel(); ++i) {
      to[i] = convert<decltype(zero)>(squares[i] / static_cast<double>(count - correction));
    }
  });
}

}  // namespace wick::reference
