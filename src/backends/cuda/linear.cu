#include "backends/cuda/kernels.h"
#include "backends/cuda/launch.cuh"
#include "backends/cuda/matmul_plan.h"

namespace wick::cuda {
namespace {

bool on_tensor_cores(const Tensor& weight) {
  return (weight.dtype() == DType::kF16 || weight.dtype() == DType::kBF16) && weight.strides()[1] == 1 &&
         weight.strides()[0] % 8 == 0 && weight.dim(1) % 8 == 0 && weight.dim(1) > 0 && aligned(weight.raw(), 16);
}

bool same_kind(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.strides()[0] == b.strides()[0] && on_tensor_cores(a) && on_tensor_cores(b);
}

void multiply_alone(const Tensor& x, const LinearJob& job) {
  const Tensor& weight = job.weight;
  if (is_packed(weight.dtype())) {
    matmul_packed(x, weight, job.out);
  } else {
    matmul(x, weight.with_layout(weight.layout().transpose(0, 1)), job.out);
  }
  const Shape& shape = job.out.shape();
  if (job.bias.defined()) {
    binary(BinaryOp::kAdd, job.out, job.bias.with_layout(*job.bias.layout().broadcast_to(shape)), job.out);
  }
  if (job.residual.defined()) binary(BinaryOp::kAdd, job.residual, job.out, job.out);
}

}  // namespace

void linear(const Tensor& x, std::span<const LinearJob> jobs) {
  if (x.dim(0) == 0) return;
  for (size_t first = 0; first < jobs.size();) {
    const Tensor& weight = jobs[first].weight;
    if (!on_tensor_cores(weight) || !aligned(x.raw(), 16)) {
      multiply_alone(x, jobs[first++]);
      continue;
    }
    WeightPlan plan;
    plan.m = x.dim(0);
    plan.k = x.dim(1);
    plan.x = x.raw();
    plan.x_dtype = plan.out_dtype = DType::kF32;
    plan.dtype = weight.dtype();
    plan.ld = weight.strides()[0];
    plan.count = 0;
    while (first < jobs.size() && plan.count < kMostJobs && same_kind(weight, jobs[first].weight)) {
      const LinearJob& job = jobs[first++];
      plan.jobs[plan.count++] = {job.weight.raw(), job.weight.dim(0), job.out.raw(),
                                 data_or_null<const float>(job.bias), data_or_null<const float>(job.residual)};
    }
    multiply_weights(x.device(), plan);
  }
}

void silu_mul(const Tensor& gate, const Tensor& up, const Tensor& out) {
  const auto *left = data_of<const float>(gate), *right = data_of<const float>(up);
  auto* target = data_of<float>(out);
  const auto one = [] __device__(float x, float y) { return x / (1.0f + expf(-x)) * y; };
  if (out.numel() % 4 == 0 && aligned(left, 16) && aligned(right, 16) && aligned(target, 16)) {
    for_each_index(out.device(), "silu_mul", out.numel() / 4, [=] __device__(int64_t i) {
      const auto x = reinterpret_cast<const float4*>(left)[i], y = reinterpret_cast<const float4*>(right)[i];
      reinterpret_cast<float4*>(target)[i] = {one(x.x, y.x), one(x.y, y.y), one(x.z, y.z), one(x.w, y.w)};
    });
    return;
  }
  for_each_index(out.device(), "silu_mul", out.numel(),
                 [=] __device__(int64_t i) { target[i] = one(left[i], right[i]); });
}

}  // namespace wick::cuda
