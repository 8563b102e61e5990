#include "backends/cuda/runtime/kernels.h"
#include "backends/cuda/runtime/launch.cuh"

namespace wick::cuda {
namespace {

template <typename W>
__device__ W apply_float(UnaryOp op, W x) {
  constexpr W kHalf = W(0.5), kOne = W(1);
  switch (op) {
    case UnaryOp::kNeg: return -x;
    case UnaryOp::kAbs: return fabs(x);
    case UnaryOp::kExp: return exp(x);
    case UnaryOp::kLog: return log(x);
    case UnaryOp::kSqrt: return sqrt(x);
    case UnaryOp::kSqr: return x * x;
    case UnaryOp::kRecip: return kOne / x;
    case UnaryOp::kRelu: return x < 0 ? W(0) : x;
    case UnaryOp::kGelu: return kHalf * x * (kOne + erf(x * W(0.70710678118654752440)));
    case UnaryOp::kGeluTanh:
      return kHalf * x * (kOne + tanh(W(0.79788456080286535588) * (x + W(0.044715) * x * x * x)));
    case UnaryOp::kSilu: return x / (kOne + exp(-x));
    case UnaryOp::kSigmoid: return kOne / (kOne + exp(-x));
    case UnaryOp::kSoftplus: return fmax(x, W(0)) + log1p(exp(-fabs(x)));
    case UnaryOp::kTanh: return tanh(x);
    case UnaryOp::kSin: return sin(x);
    case UnaryOp::kCos: return cos(x);
    case UnaryOp::kErf: return erf(x);
    case UnaryOp::kFloor: return floor(x);
    case UnaryOp::kCeil: return ceil(x);
    case UnaryOp::kRound: return rint(x);
  }
  return x;
}

// Integers wrap around; the ops let no other code through.
__device__ int64_t apply_integer(UnaryOp op, int64_t x) {
  switch (op) {
    case UnaryOp::kNeg: return static_cast<int64_t>(-static_cast<uint64_t>(x));
    case UnaryOp::kAbs: return x < 0 ? static_cast<int64_t>(-static_cast<uint64_t>(x)) : x;
    case UnaryOp::kSqr: return static_cast<int64_t>(static_cast<uint64_t>(x) * static_cast<uint64_t>(x));
    case UnaryOp::kRelu: return x < 0 ? 0 : x;
    default: return x;  // floor, ceil, round
  }
}

template <typename T>
__device__ __forceinline__ T apply(UnaryOp op, T x) {
  if constexpr (std::is_integral_v<T>) {
    return to<T>(apply_integer(op, widen(x)));
  } else {
    return to<T>(apply_float(op, widen(x)));
  }
}

template <typename T>
void run(UnaryOp op, const Tensor& x, const Tensor& out) {
  const auto* from = data_of<const T>(x);
  auto* target = data_of<T>(out);
  for_each_element<2>(out.device(), "unary", out.shape(), {x.strides(), out.strides()},
                      [=] __device__(const int64_t(&at)[2]) { target[at[1]] = apply(op, from[at[0]]); });
}

}  // namespace

void unary(UnaryOp op, const Tensor& x, const Tensor& out) {
  visit_device_dtype(x.dtype(), [&](auto zero) { run<decltype(zero)>(op, x, out); });
}

}  // namespace wick::cuda
