#include "backends/cuda/gemm/matmul_plan.h"
#include "backends/cuda/runtime/kernels.h"
#include "backends/cuda/runtime/launch.cuh"
#include "tensor/create.h"

namespace wick::cuda {
namespace {

bool on_tensor_cores(const Tensor& weight) {
  return (weight.dtype() == DType::kF16 || weight.dtype() == DType::kBF16) && weight.strides()[1] == 1 &&
         weight.strides()[0] % 8 == 0 && weight.dim(1) % 8 == 0 && weight.dim(1) > 0 && aligned(weight.raw(), 16);
}

// Whether both can be in one plan.
bool joins(const Tensor& a, const Tensor& b) {
  const bool known = is_packed(a.dtype()) || (on_tensor_cores(a) && on_tensor_cores(b));
  return known && a.dtype() == b.dtype() && a.strides()[0] == b.strides()[0];
}

// What the input becomes, for weights that no fused kernel takes.
Tensor plain_input(const LinearInput& input) {
  if (!input.norm_weight.defined() && !input.up.defined()) return input.x.to_dtype(DType::kF32);
  Tensor out = empty(input.x.shape(), DType::kF32, input.x.device());
  if (input.norm_weight.defined()) {
    rms_norm(input.x, input.norm_weight, input.eps, out);
  } else {
    unary(UnaryOp::kSilu, input.x, out);
    binary(BinaryOp::kMul, out, input.up, out);
  }
  return out;
}

void multiply_alone(const Tensor& x, const LinearJob& job) {
  matmul(x, job.weight.with_layout(job.weight.layout().transpose(0, 1)), job.out);
  const Shape& shape = job.out.shape();
  if (job.bias.defined()) {
    binary(BinaryOp::kAdd, job.out, job.bias.with_layout(*job.bias.layout().broadcast_to(shape)), job.out);
  }
  if (job.residual.defined()) binary(BinaryOp::kAdd, job.residual, job.out, job.out);
}

// The plan of jobs from `first` on that can be done together.
WeightPlan plan_of(const LinearInput& input, std::span<const LinearJob> jobs, size_t& first) {
  const Tensor &x = input.x, &weight = jobs[first].weight;
  WeightPlan plan;
  plan.m = x.dim(0);
  plan.k = x.dim(1);
  plan.x = x.raw();
  plan.x_dtype = x.dtype();
  plan.out_dtype = jobs[first].out.dtype();
  plan.dtype = weight.dtype();
  plan.ld = is_packed(weight.dtype()) ? bytes_of(weight.dtype(), weight.strides()[0]) : weight.strides()[0];
  plan.norm_weight = data_or_null<const float>(input.norm_weight);
  plan.up = data_or_null<const float>(input.up);
  plan.eps = input.eps;
  plan.steady = true;  // a model's
  plan.count = 0;
  while (first < jobs.size() && plan.count < kMostJobs && joins(weight, jobs[first].weight)) {
    const LinearJob& job = jobs[first++];
    plan.jobs[plan.count++] = {job.weight.raw(), job.weight.dim(0), data_or_null<void>(job.out),
                               data_or_null<const float>(job.bias), data_or_null<const float>(job.residual)};
  }
  return plan;
}

// Whether a job with such weights can be in a plan.
bool fits_plan(const Tensor& x, const Tensor& weight) {
  return (x.dtype() == DType::kF32 || x.dtype() == weight.dtype()) && joins(weight, weight) && x.dim(1) % 4 == 0 &&
         aligned(x.raw(), 16);
}

}  // namespace

bool gated_linear(const LinearInput& input, const LinearJob& gate, const LinearJob& up) {
  const Tensor& x = input.x;
  const std::array<LinearJob, 2> jobs{gate, up};
  if (x.dim(0) == 0 || !joins(gate.weight, up.weight) || x.dim(1) % 4 != 0 || !aligned(x.raw(), 16) ||
      gate.weight.dim(0) != up.weight.dim(0)) {
    return false;
  }
  size_t first = 0;
  WeightPlan plan = plan_of(input, jobs, first);
  if (!takes_gated(runtime(x.device()), plan)) return false;
  plan.gated = true;
  is_packed(plan.dtype) ? multiply_packed(x.device(), plan) : multiply_weights(x.device(), plan);
  return true;
}

void linear(const LinearInput& input, std::span<const LinearJob> jobs) {
  const Tensor& x = input.x;
  if (x.dim(0) == 0) return;
  const Runtime& use = runtime(x.device());
  Tensor plain;
  bool follows = false;  // the plan before it leads
  for (size_t first = 0; first < jobs.size();) {
    if (!fits_plan(x, jobs[first].weight)) {
      if (!plain.defined()) plain = plain_input(input);
      multiply_alone(plain, jobs[first++]);
      follows = false;
      continue;
    }
    WeightPlan plan = plan_of(input, jobs, first);
    plan.follows = follows;
    if (first < jobs.size() && fits_plan(x, jobs[first].weight) && runs_beside(use, plan)) {
      size_t behind = first;
      plan.leads = runs_beside(use, plan_of(input, jobs, behind));
    }
    follows = plan.leads;
    is_packed(plan.dtype) ? multiply_packed(x.device(), plan) : multiply_weights(x.device(), plan);
  }
}

}  // namespace wick::cuda
