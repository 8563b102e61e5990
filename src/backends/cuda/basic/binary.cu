#include "backends/cuda/runtime/kernels.h"
#include "backends/cuda/runtime/launch.cuh"

namespace wick::cuda {
namespace {

template <typename W>
__device__ W apply_float(BinaryOp op, W a, W b) {
  switch (op) {
    case BinaryOp::kAdd: return a + b;
    case BinaryOp::kSub: return a - b;
    case BinaryOp::kMul: return a * b;
    case BinaryOp::kDiv: return a / b;
    case BinaryOp::kPow: return pow(a, b);
    case BinaryOp::kMaximum: return a != a || a > b ? a : b;
    case BinaryOp::kMinimum: return a != a || a < b ? a : b;
  }
  return a;
}

__device__ uint64_t power(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent; exponent >>= 1, base *= base) {
    if (exponent & 1) result *= base;
  }
  return result;
}

// Integers wrap around; division never comes here (the op converts to f64).
__device__ int64_t apply_integer(BinaryOp op, int64_t a, int64_t b) {
  const auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  switch (op) {
    case BinaryOp::kAdd: return static_cast<int64_t>(ua + ub);
    case BinaryOp::kSub: return static_cast<int64_t>(ua - ub);
    case BinaryOp::kMul: return static_cast<int64_t>(ua * ub);
    case BinaryOp::kPow: return static_cast<int64_t>(power(ua, ub));
    case BinaryOp::kMaximum: return a > b ? a : b;
    case BinaryOp::kMinimum: return a < b ? a : b;
    case BinaryOp::kDiv: break;
  }
  return 0;
}

template <typename T>
__device__ __forceinline__ T apply(BinaryOp op, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return to<T>(apply_integer(op, widen(a), widen(b)));
  } else {
    return to<T>(apply_float(op, widen(a), widen(b)));
  }
}

template <typename T>
void run(BinaryOp op, const Tensor& a, const Tensor& b, const Tensor& out) {
  const auto *left = data_of<const T>(a), *right = data_of<const T>(b);
  auto* target = data_of<T>(out);
  const auto four = [](const void* pointer) { return aligned(pointer, 4 * sizeof(T)); };
  if (a.is_contiguous() && b.is_contiguous() && out.numel() % 4 == 0 && four(left) && four(right) && four(target)) {
    for_each_index(out.device(), "binary", out.numel() / 4, [=] __device__(int64_t i) {
      const auto x = reinterpret_cast<const Four<T>*>(left)[i], y = reinterpret_cast<const Four<T>*>(right)[i];
      Four<T> result;
#pragma unroll
      for (int j = 0; j < 4; ++j) result.at[j] = apply(op, x.at[j], y.at[j]);
      reinterpret_cast<Four<T>*>(target)[i] = result;
    });
    return;
  }
  for_each_element<3>(out.device(), "binary", out.shape(), {a.strides(), b.strides(), out.strides()},
                      [=] __device__(const int64_t(&at)[3]) { target[at[2]] = apply(op, left[at[0]], right[at[1]]); });
}

}  // namespace

void binary(BinaryOp op, const Tensor& a, const Tensor& b, const Tensor& out) {
  visit_device_dtype(out.dtype(), [&](auto zero) { run<decltype(zero)>(op, a, b, out); });
}

}  // namespace wick::cuda
