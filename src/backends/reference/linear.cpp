#include "ops/layers/linear.h"

#include <array>

#include "backends/reference/kernels.h"
#include "tensor/create.h"

namespace wick::reference {

void linear(const LinearInput& input, std::span<const LinearJob> jobs) {
  Tensor x = input.x;
  if (input.norm_weight.defined()) {
    x = empty(x.shape(), DType::kF32, x.device());
    rms_norm(input.x, input.norm_weight, input.eps, x);
  } else if (input.up.defined()) {
    x = empty(x.shape(), DType::kF32, x.device());
    unary(UnaryOp::kSilu, input.x, x);
    binary(BinaryOp::kMul, x, input.up, x);
  }
  for (const LinearJob& job : jobs) {
    if (is_packed(job.weight.dtype())) {
      matmul_packed(x, job.weight, job.out);
    } else {
      matmul(x, job.weight.with_layout(job.weight.layout().transpose(0, 1)), job.out);
    }
    if (job.bias.defined()) {
      const Layout all = *job.bias.layout().broadcast_to(job.out.shape());
      binary(BinaryOp::kAdd, job.out, job.bias.with_layout(all), job.out);
    }
    if (job.residual.defined()) binary(BinaryOp::kAdd, job.residual, job.out, job.out);
  }
}

bool gated_linear(const LinearInput& input, const LinearJob& gate, const LinearJob& up) {
  LinearJob second = up;
  second.out = empty(gate.out.shape(), DType::kF32, input.x.device());
  const std::array<LinearJob, 2> jobs{gate, second};
  reference::linear(input, jobs);
  unary(UnaryOp::kSilu, gate.out, gate.out);
  binary(BinaryOp::kMul, gate.out, second.out, gate.out);
  return true;
}

}  // namespace wick::reference
