#include "backends/cpu/gemm/matmul_plan.h"
#include "backends/cpu/kernels.h"

namespace wick::cpu {

namespace {

MatmulPlan make_plan(const Tensor& a, const Tensor& b, const Tensor& out) {
  const int row = a.rank() - 2, col = a.rank() - 1;
  MatmulPlan plan{.a = a.raw(), .b = b.raw(), .out = out.raw()};
  plan.a_type = a.dtype(), plan.b_type = b.dtype(), plan.out_type = out.dtype();
  plan.m = a.dim(row), plan.k = a.dim(col), plan.n = b.dim(col);
  plan.a_row = a.strides()[row], plan.a_col = a.strides()[col];
  plan.b_row = b.strides()[row], plan.b_col = b.strides()[col];
  int folded = row;
  for (; folded > 0; --folded) {
    const int d = folded - 1;
    const bool same_b = b.strides()[d] == 0 || b.dim(d) == 1;
    const bool next_rows = a.dim(d) == 1 || plan.m == 1 || a.strides()[d] == plan.m * plan.a_row;
    if (!same_b || !next_rows) break;
    if (plan.m == 1) plan.a_row = a.strides()[d];
    plan.m *= a.dim(d);
  }
  plan.batch_rank = folded;
  for (int d = 0; d < folded; ++d) {
    plan.batch_sizes[d] = a.dim(d);
    plan.a_batch[d] = a.strides()[d];
    plan.b_batch[d] = b.strides()[d];
    plan.batches *= a.dim(d);
  }
  return plan;
}

}  // namespace

void matmul(const Tensor& a, const Tensor& b, const Tensor& out) {
  if (out.numel() == 0) return;
  const MatmulPlan plan = make_plan(a, b, out);
  if (plan.k == 0) {
    std::fill_n(out.raw(), out.numel() * size_of(out.dtype()), std::byte{0});
    return;
  }
  const bool outer = plan.b_row != 1 && plan.b_col == 1;
  outer ? matmul_outer(plan) : matmul_dot(plan);
}

}  // namespace wick::cpu
