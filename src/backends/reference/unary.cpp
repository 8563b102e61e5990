#include <algorithm>
#include <cmath>
#include <numbers>

#include "backends/reference/kernels.h"
#include "backends/reference/walk.h"

namespace wick::reference {

namespace {

double apply(UnaryOp op, double x) {
  switch (op) {
    case UnaryOp::kNeg: return -x;
    case UnaryOp::kAbs: return std::abs(x);
    case UnaryOp::kExp: return std::exp(x);
    case UnaryOp::kLog: return std::log(x);
    case UnaryOp::kSqrt: return std::sqrt(x);
    case UnaryOp::kSqr: return x * x;
    case UnaryOp::kRecip: return 1 / x;
    case UnaryOp::kRelu: return x < 0 ? 0 : x;
    case UnaryOp::kGelu: return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
    case UnaryOp::kGeluTanh: {
      const double scale = std::sqrt(2 / std::numbers::pi);
      return 0.5 * x * (1 + std::tanh(scale * (x + 0.044715 * x * x * x)));
    }
    case UnaryOp::kSilu: return x / (1 + std::exp(-x));
    case UnaryOp::kSigmoid: return 1 / (1 + std::exp(-x));
    case UnaryOp::kSoftplus: return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
    case UnaryOp::kTanh: return std::tanh(x);
    case UnaryOp::kSin: return std::sin(x);
    case UnaryOp::kCos: return std::cos(x);
    case UnaryOp::kErf: return std::erf(x);
    case UnaryOp::kFloor: return std::floor(x);
    case UnaryOp::kCeil: return std::ceil(x);
    case UnaryOp::kRound: return std::nearbyint(x);
  }
  return 0;
}

// Integers wrap around, as in NumPy. The ops let no other code through.
int64_t apply(UnaryOp op, int64_t x) {
  switch (op) {
    case UnaryOp::kNeg: return static_cast<int64_t>(-static_cast<uint64_t>(x));
    case UnaryOp::kAbs: return x < 0 ? static_cast<int64_t>(-static_cast<uint64_t>(x)) : x;
    case UnaryOp::kSqr: return static_cast<int64_t>(static_cast<uint64_t>(x) * static_cast<uint64_t>(x));
    case UnaryOp::kRelu: return x < 0 ? 0 : x;
    default: return x;  // floor, ceil, round
  }
}

}  // namespace

void unary(UnaryOp op, const Tensor& x, const Tensor& out) {
  visit_dtype(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const View<T> in(x), to(out);
    for_each_index(x.shape(), [&](const Index& i) { to.set(i, apply(op, in.get(i))); });
  });
}

}  // namespace wick::reference
