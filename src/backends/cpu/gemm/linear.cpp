#include "ops/layers/linear.h"

#include <algorithm>
#include <array>

#include "backends/cpu/kernels.h"
#include "backends/cpu/quant/packed_plan.h"
#include "base/thread_pool.h"
#include "tensor/create.h"

namespace wick::cpu {
namespace {

constexpr int64_t kPiece = 16384;  // elements that a thread takes at least

// The input after its norm or activation.
Tensor prepared(const LinearInput& input) {
  if (!input.norm_weight.defined() && !input.up.defined()) return input.x;
  Tensor x = empty(input.x.shape(), DType::kF32);
  if (input.norm_weight.defined()) {
    rms_norm(input.x, input.norm_weight, input.eps, x);
  } else {
    unary(UnaryOp::kSilu, input.x, x);
    binary(BinaryOp::kMul, x, input.up, x);
  }
  return x;
}

// out = (out + bias) + residual, in one pass.
void finish(const LinearJob& job) {
  if (!job.bias.defined() && !job.residual.defined()) return;
  const int64_t rows = job.out.dim(0), n = job.out.dim(1);
  float* out = job.out.mutable_data<float>();
  const float* bias = job.bias.defined() ? job.bias.data<float>() : nullptr;
  const float* residual = job.residual.defined() ? job.residual.data<float>() : nullptr;
  parallel_for(rows, std::max<int64_t>(1, kPiece / std::max<int64_t>(n, 1)), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      float* __restrict to = out + row * n;
      if (bias) {
        for (int64_t i = 0; i < n; ++i) to[i] += bias[i];
      }
      if (!residual) continue;
      const float* __restrict more = residual + row * n;
      for (int64_t i = 0; i < n; ++i) to[i] += more[i];
    }
  });
}

}  // namespace

void linear(const LinearInput& input, std::span<const LinearJob> jobs) {
  const Tensor x = prepared(input);
  PackedActivations packed;  // once for all jobs whose formats have blocks of one size
  for (const LinearJob& job : jobs) {
    if (is_packed(job.weight.dtype())) {
      multiply_packed(x, job.weight, job.out, packed);
    } else {
      matmul(x, job.weight.with_layout(job.weight.layout().transpose(0, 1)), job.out);
    }
    finish(job);
  }
}

bool gated_linear(const LinearInput& input, const LinearJob& gate, const LinearJob& up) {
  LinearJob second = up;
  second.out = empty(gate.out.shape(), DType::kF32);
  const std::array<LinearJob, 2> jobs{gate, second};
  cpu::linear(input, jobs);
  unary(UnaryOp::kSilu, gate.out, gate.out);
  binary(BinaryOp::kMul, gate.out, second.out, gate.out);
  return true;
}

}  // namespace wick::cpu
