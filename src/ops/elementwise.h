#pragma once

#include "ops/kernel_table.h"

namespace wick {

// The parts that element-wise ops share: checks, promotion, broadcasting and the kernel call, without the gradient.
Tensor apply_unary(const char* op, UnaryOp code, const Tensor& x);      // floats only
Tensor apply_unary_any(const char* op, UnaryOp code, const Tensor& x);  // integers too
Tensor apply_binary(const char* op, BinaryOp code, const Tensor& a, const Tensor& b);
Tensor apply_compare(const char* op, CompareOp code, const Tensor& a, const Tensor& b);

// A number as an operand beside x: it takes x's dtype, except that a fraction beside integers becomes f64.
Tensor scalar_beside(const Tensor& x, double value);

}  // namespace wick
