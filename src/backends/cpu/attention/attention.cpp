#include <cmath>
#include <limits>

#include "backends/cpu/attention/attention_plan.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/scratch.h"
#include "base/thread_pool.h"

namespace wick::cpu {

namespace {

// f64 is for tests and physics: one row at a time, plainly.
void attention_f64_row(const AttentionPlan& plan, int64_t batch, int64_t kv_head, int64_t row) {
  const int64_t head = plan.head(kv_head, row), query = plan.query(row), visible = plan.visible(row);
  const int64_t q_step = plan.q.strides()[3], k_step = plan.k.strides()[3], v_step = plan.v.strides()[3];
  const double* q = AttentionPlan::at<double>(plan.q, batch, head, query);
  double* out =
      plan.out.mutable_data<double>() + ((batch * plan.q.dim(1) + head) * plan.queries + query) * plan.value_dim;
  double* weights = scratch<double, struct AttentionRow>(std::max<int64_t>(1, visible));
  double most = -std::numeric_limits<double>::infinity(), total = 0;
  for (int64_t j = 0; j < visible; ++j) {
    const double* k = AttentionPlan::at<double>(plan.k, batch, kv_head, j);
    double score = 0;
    for (int64_t d = 0; d < plan.dim; ++d) score += q[d * q_step] * k[d * k_step];
    weights[j] = score * plan.params.scale;
    if (plan.mask.defined())
      weights[j] += AttentionPlan::at<float>(plan.mask, batch, head, query)[j * plan.mask.strides()[3]];
    most = std::max(most, weights[j]);
  }
  std::fill_n(out, plan.value_dim, 0.0);
  if (most == -std::numeric_limits<double>::infinity()) return;
  for (int64_t j = 0; j < visible; ++j) {
    const double weight = std::exp(weights[j] - most);
    const double* v = AttentionPlan::at<double>(plan.v, batch, kv_head, j);
    total += weight;
    for (int64_t d = 0; d < plan.value_dim; ++d) out[d] += weight * v[d * v_step];
  }
  for (int64_t d = 0; d < plan.value_dim; ++d) out[d] /= total;
}

}  // namespace

void attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, const AttentionParams& params,
               const Tensor& out) {
  if (out.numel() == 0) return;
  const AttentionPlan plan{q, k, v, mask, out, params};
  if (q.dtype() != DType::kF64) return attention_blocked(plan);
  parallel_for(q.dim(0) * plan.kv_heads * plan.rows, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t outer = i / plan.rows;
      attention_f64_row(plan, outer / plan.kv_heads, outer % plan.kv_heads, i % plan.rows);
    }
  });
}

}  // namespace wick::cpu
