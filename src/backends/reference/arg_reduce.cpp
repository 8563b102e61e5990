#include "backends/reference/kernels.h"
#include "backends/reference/lines.h"

namespace wick::reference {

void arg_reduce(ArgReduceOp op, const Tensor& x, int dim, const Tensor& out) {
  const View<int64_t> to(out);
  visit_dtype(x.dtype(), [&](auto zero) {
    const View<decltype(zero)> in(x);
    for_each_line(x.shape(), dim, [&](const Index& line) {
      int64_t best = 0;
      for (int64_t i = 1; i < x.dim(dim); ++i) {
        const auto value = in.get(moved(line, dim, i)), leader = in.get(moved(line, dim, best));
        if (leader != leader) break;
        const bool wins = op == ArgReduceOp::kArgMax ? value > leader : value < leader;
        if (wins || value != value) best = i;
      }
      to[line] = best;
    });
  });
}

}  // namespace wick::reference
