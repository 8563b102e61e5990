#include <algorithm>
#include <cmath>

#include "backends/reference/kernels.h"
#include "backends/reference/walk.h"

namespace wick::reference {

namespace {

double apply(BinaryOp op, double a, double b) {
  switch (op) {
    case BinaryOp::kAdd: return a + b;
    case BinaryOp::kSub: return a - b;
    case BinaryOp::kMul: return a * b;
    case BinaryOp::kDiv: return a / b;
    case BinaryOp::kPow: return std::pow(a, b);
    case BinaryOp::kMaximum: return a != a || a > b ? a : b;
    case BinaryOp::kMinimum: return a != a || a < b ? a : b;
  }
  return 0;
}

uint64_t power(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent; exponent >>= 1, base *= base) {
    if (exponent & 1) result *= base;
  }
  return result;
}

// Integers wrap around; division never comes here (the op converts to f64).
int64_t apply(BinaryOp op, int64_t a, int64_t b) {
  const auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  switch (op) {
    case BinaryOp::kAdd: return static_cast<int64_t>(ua + ub);
    case BinaryOp::kSub: return static_cast<int64_t>(ua - ub);
    case BinaryOp::kMul: return static_cast<int64_t>(ua * ub);
    case BinaryOp::kPow: return static_cast<int64_t>(power(ua, ub));
    case BinaryOp::kMaximum: return std::max(a, b);
    case BinaryOp::kMinimum: return std::min(a, b);
    case BinaryOp::kDiv: break;
  }
  return 0;
}

}  // namespace

void binary(BinaryOp op, const Tensor& a, const Tensor& b, const Tensor& out) {
  visit_dtype(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const View<T> in_a(a), in_b(b), to(out);
    for_each_index(out.shape(), [&](const Index& i) { to.set(i, apply(op, in_a.get(i), in_b.get(i))); });
  });
}

}  // namespace wick::reference
