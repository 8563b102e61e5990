#include "ops/layers/experts.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "backends/cpu/kernels.h"
#include "base/thread_pool.h"
#include "tensor/create.h"

namespace wick::cpu {
namespace {

// As Activation::kClampedSwiglu, to `gate`.
void clamped_gate(const Tensor& gate, const Tensor& up) {
  constexpr float kLimit = 7, kSlope = 1.702f;
  clamp(gate, -std::numeric_limits<double>::infinity(), kLimit, gate);
  clamp(up, -kLimit, kLimit, up);
  const Tensor swish = empty(gate.shape(), DType::kF32);
  const int64_t count = gate.numel();
  float *g = gate.mutable_data<float>(), *s = swish.mutable_data<float>();
  const float* u = up.data<float>();
  for (int64_t i = 0; i < count; ++i) s[i] = g[i] * kSlope;
  unary(UnaryOp::kSigmoid, swish, swish);
  for (int64_t i = 0; i < count; ++i) g[i] = g[i] * s[i] * (u[i] + 1);
}

// What one expert makes of rows of x.
Tensor run_expert(const Tensor& x, const ExpertWeights& expert, ExpertGate gate) {
  const Shape inner{x.dim(0), expert.gate.dim(0)};
  LinearJob jobs[] = {{expert.gate, expert.gate_bias, {}, empty(inner, DType::kF32)},
                      {expert.up, expert.up_bias, {}, empty(inner, DType::kF32)}};
  if (gate == ExpertGate::kSilu) {
    cpu::gated_linear({x}, jobs[0], jobs[1]);
  } else {
    cpu::linear({x}, jobs);
    clamped_gate(jobs[0].out, jobs[1].out);
  }
  const LinearJob down{expert.down, expert.down_bias, {}, empty({x.dim(0), expert.down.dim(0)}, DType::kF32)};
  cpu::linear({jobs[0].out}, {&down, 1});
  return down.out;
}

}  // namespace

bool route_experts(const LinearInput& input, const ExpertRouter& router, const ExpertChoice& choice,
                   const RoutedExperts& routed) {
  const Tensor scores = empty({input.x.dim(0), router.weight.dim(0)}, DType::kF32);
  const LinearJob job{router.weight, router.bias, {}, scores};
  cpu::linear(input, {&job, 1});
  choice.sigmoid ? unary(UnaryOp::kSigmoid, scores, scores) : softmax(scores, 1, scores);
  choose_experts(scores, router.selection_bias, choice, routed);
  return true;
}

bool mix_experts(const LinearInput& input, const RoutedExperts& routed, std::span<const ExpertWeights> experts,
                 ExpertGate gate, const Tensor& residual, const Tensor& out) {
  Tensor x = input.x;
  if (input.norm_weight.defined()) {
    x = empty(x.shape(), DType::kF32);
    rms_norm(input.x, input.norm_weight, input.eps, x);
  }
  const int64_t rows = x.dim(0), hidden = x.dim(1), chosen = routed.ids.dim(1);
  const auto* ids = routed.ids.data<int32_t>();
  const auto* weights = routed.weights.data<float>();
  std::vector<std::vector<int64_t>> pairs(experts.size());  // of each expert, places in ids
  for (int64_t i = 0; i < rows * chosen; ++i) pairs[static_cast<size_t>(ids[i])].push_back(i);
  float* sums = out.mutable_data<float>();
  std::fill_n(sums, out.numel(), 0.0f);
  // A row's experts are added by their number, whoever else is in the batch.
  for (size_t expert = 0; expert < experts.size(); ++expert) {
    const auto count = static_cast<int64_t>(pairs[expert].size());
    if (count == 0) continue;
    Tensor mine = x;
    if (count < rows || rows > 1) {
      mine = empty({count, hidden}, DType::kF32);
      for (int64_t i = 0; i < count; ++i) {
        std::copy_n(x.data<float>() + pairs[expert][static_cast<size_t>(i)] / chosen * hidden, hidden,
                    mine.mutable_data<float>() + i * hidden);
      }
    }
    const Tensor y = run_expert(mine, experts[expert], gate);
    parallel_for(count, 4, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t pair = pairs[expert][static_cast<size_t>(i)];
        const float* from = y.data<float>() + i * hidden;
        float* to = sums + pair / chosen * hidden;
        for (int64_t j = 0; j < hidden; ++j) to[j] += weights[pair] * from[j];
      }
    });
  }
  if (residual.defined()) binary(BinaryOp::kAdd, residual, out, out);
  return true;
}

}  // namespace wick::cpu
