#include "backends/reference/kernels.h"
#include "backends/reference/walk.h"

namespace wick::reference {

namespace {

template <typename T>
bool apply(CompareOp op, T a, T b) {
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

}  // namespace

void compare(CompareOp op, const Tensor& a, const Tensor& b, const Tensor& out) {
  const View<uint8_t> to(out);
  visit_dtype(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const View<T> in_a(a), in_b(b);
    for_each_index(out.shape(), [&](const Index& i) { to[i] = apply(op, in_a.get(i), in_b.get(i)); });
  });
}

}  // namespace wick::reference
