#include "ops/layers/experts.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "backends/reference/kernels.h"
#include "tensor/create.h"

namespace wick::reference {
namespace {

double gated(ExpertGate gate, double g, double u) {
  if (gate == ExpertGate::kSilu) return g / (1 + std::exp(-g)) * u;
  const double low = std::min(g, 7.0);
  return low / (1 + std::exp(-1.702 * low)) * (std::clamp(u, -7.0, 7.0) + 1);
}

// One row of a product, in f32.
std::vector<float> product(const Tensor& row, const Tensor& weight, const Tensor& bias) {
  const LinearJob job{weight, bias, {}, empty({1, weight.dim(0)}, DType::kF32, row.device())};
  reference::linear({row}, {&job, 1});
  return job.out.to_vector<float>();
}

}  // namespace

bool route_experts(const LinearInput& input, const ExpertRouter& router, const ExpertChoice& choice,
                   const RoutedExperts& routed) {
  const Tensor scores = empty({input.x.dim(0), router.weight.dim(0)}, DType::kF32, input.x.device());
  const LinearJob job{router.weight, router.bias, {}, scores};
  reference::linear(input, {&job, 1});
  choice.sigmoid ? unary(UnaryOp::kSigmoid, scores, scores) : softmax(scores, 1, scores);
  choose_experts(scores, router.selection_bias, choice, routed);
  return true;
}

bool mix_experts(const LinearInput& input, const RoutedExperts& routed, std::span<const ExpertWeights> experts,
                 ExpertGate gate, const Tensor& residual, const Tensor& out) {
  Tensor x = input.x;
  if (input.norm_weight.defined()) {
    x = empty(x.shape(), DType::kF32, x.device());
    rms_norm(input.x, input.norm_weight, input.eps, x);
  }
  const int64_t chosen = routed.ids.dim(1), hidden = x.dim(1);
  for (int64_t row = 0; row < x.dim(0); ++row) {
    const Tensor mine = x.with_layout(x.layout().narrow(0, row, 1));
    std::vector<double> sum(static_cast<size_t>(hidden));
    for (int64_t i = row * chosen; i < (row + 1) * chosen; ++i) {
      const ExpertWeights& expert = experts[static_cast<size_t>(routed.ids.data<int32_t>()[i])];
      const std::vector<float> g = product(mine, expert.gate, expert.gate_bias);
      const std::vector<float> u = product(mine, expert.up, expert.up_bias);
      const Tensor inner = empty({1, expert.gate.dim(0)}, DType::kF32, x.device());
      for (size_t j = 0; j < g.size(); ++j) {
        inner.mutable_data<float>()[j] = static_cast<float>(gated(gate, g[j], u[j]));
      }
      const std::vector<float> y = product(inner, expert.down, expert.down_bias);
      for (size_t j = 0; j < y.size(); ++j) sum[j] += double{routed.weights.data<float>()[i]} * y[j];
    }
    for (int64_t j = 0; j < hidden; ++j) {
      const double more = residual.defined() ? double{residual.data<float>()[row * hidden + j]} : 0;
      out.mutable_data<float>()[row * hidden + j] = static_cast<float>(more + sum[static_cast<size_t>(j)]);
    }
  }
  return true;
}

}  // namespace wick::reference
