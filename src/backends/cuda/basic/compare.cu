#include "backends/cuda/runtime/kernels.h"
#include "backends/cuda/runtime/launch.cuh"

namespace wick::cuda {
namespace {

template <typename W>
__device__ bool apply(CompareOp op, W a, W b) {
  switch (op) {
    case CompareOp::kEq: return a == b;
    case CompareOp::kNe: return a != b;
    case CompareOp::kLt: return a < b;
    case CompareOp::kLe: return a <= b;
    case CompareOp::kGt: return a > b;
    case CompareOp::kGe: return a >= b;
  }
  return false;
}

template <typename T>
void run(CompareOp op, const Tensor& a, const Tensor& b, const Tensor& out) {
  const auto *left = data_of<const T>(a), *right = data_of<const T>(b);
  auto* target = data_of<uint8_t>(out);
  for_each_element<3>(
      out.device(), "compare", out.shape(), {a.strides(), b.strides(), out.strides()},
      [=] __device__(const int64_t(&at)[3]) { target[at[2]] = apply(op, widen(left[at[0]]), widen(right[at[1]])); });
}

}  // namespace

void compare(CompareOp op, const Tensor& a, const Tensor& b, const Tensor& out) {
  visit_device_dtype(a.dtype(), [&](auto zero) { run<decltype(zero)>(op, a, b, out); });
}

}  // namespace wick::cuda
