#include "ops/elementwise.h"

#include <cmath>

#include "ops/check.h"

namespace wick {

Tensor apply_unary_any(const char* op, UnaryOp code, const Tensor& x) {
  check_defined(op, x);
  const auto kernel = find_kernel(op, x.device(), &KernelTable::unary);
  Tensor out = empty_like(x);
  kernel(code, x, out);
  return out;
}

Tensor apply_unary(const char* op, UnaryOp code, const Tensor& x) {
  check_float(op, x);
  return apply_unary_any(op, code, x);
}

Tensor apply_binary(const char* op, BinaryOp code, const Tensor& a, const Tensor& b) {
  check_defined(op, a);
  check_defined(op, b);
  check_same_device(op, {&a, &b});
  const auto kernel = find_kernel(op, a.device(), &KernelTable::binary);
  const Shape shape = broadcast_shapes(op, a.shape(), b.shape());
  DType dtype = promote(a.dtype(), b.dtype());
  if (code == BinaryOp::kDiv && is_integer(dtype)) dtype = DType::kF64;  // true division, as in NumPy
  Tensor out = empty(shape, dtype, a.device());
  kernel(code, broadcast_view(op, as_dtype(a, dtype), shape), broadcast_view(op, as_dtype(b, dtype), shape), out);
  return out;
}

Tensor apply_compare(const char* op, CompareOp code, const Tensor& a, const Tensor& b) {
  check_defined(op, a);
  check_defined(op, b);
  check_same_device(op, {&a, &b});
  const auto kernel = find_kernel(op, a.device(), &KernelTable::compare);
  const Shape shape = broadcast_shapes(op, a.shape(), b.shape());
  const DType dtype = promote(a.dtype(), b.dtype());
  Tensor out = empty(shape, DType::kU8, a.device());
  kernel(code, broadcast_view(op, as_dtype(a, dtype), shape), broadcast_view(op, as_dtype(b, dtype), shape), out);
  return out;
}

Tensor scalar_beside(const Tensor& x, double value) {
  const bool fraction = std::trunc(value) != value;
  const DType dtype = is_integer(x.dtype()) && fraction ? DType::kF64 : x.dtype();
  return scalar(value, dtype, x.device());
}

}  // namespace wick
