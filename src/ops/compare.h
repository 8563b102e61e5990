#pragma once

#include "tensor/tensor.h"

namespace wick {

// 1 where a == b, else 0, as u8; broadcast.
Tensor eq(const Tensor& a, const Tensor& b);
Tensor eq(const Tensor& a, double b);

// 1 where a != b, else 0, as u8; broadcast.
Tensor ne(const Tensor& a, const Tensor& b);
Tensor ne(const Tensor& a, double b);

// 1 where a < b, else 0, as u8; broadcast.
Tensor lt(const Tensor& a, const Tensor& b);
Tensor lt(const Tensor& a, double b);

// 1 where a <= b, else 0, as u8; broadcast.
Tensor le(const Tensor& a, const Tensor& b);
Tensor le(const Tensor& a, double b);

// 1 where a > b, else 0, as u8; broadcast.
Tensor gt(const Tensor& a, const Tensor& b);
Tensor gt(const Tensor& a, double b);

// 1 where a >= b, else 0, as u8; broadcast.
Tensor ge(const Tensor& a, const Tensor& b);
Tensor ge(const Tensor& a, double b);

// a where the condition is not 0, else b; all three broadcast. The condition may have any dtype.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);

}  // namespace wick
