#pragma once

#include "ops/unary.h"
#include "tensor/tensor.h"

namespace wick {

// a + b, broadcast.
Tensor add(const Tensor& a, const Tensor& b);
Tensor add(const Tensor& a, double b);

// a - b, broadcast.
Tensor sub(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, double b);
Tensor sub(double a, const Tensor& b);

// a * b, broadcast.
Tensor mul(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, double b);

// a / b, broadcast; integers give f64, as in NumPy.
Tensor div(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, double b);
Tensor div(double a, const Tensor& b);

// a to the power b, broadcast. Integers stay integers; a negative exponent beside integers is an error.
Tensor pow(const Tensor& a, const Tensor& b);
Tensor pow(const Tensor& a, double b);

// The larger of a and b, broadcast; NaN if either is. On ties each gets half the gradient.
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor maximum(const Tensor& a, double b);

// The smaller of a and b, broadcast; NaN if either is. On ties each gets half the gradient.
Tensor minimum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, double b);

inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator+(const Tensor& a, double b) { return add(a, b); }
inline Tensor operator+(double a, const Tensor& b) { return add(b, a); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator-(const Tensor& a, double b) { return sub(a, b); }
inline Tensor operator-(double a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator*(const Tensor& a, double b) { return mul(a, b); }
inline Tensor operator*(double a, const Tensor& b) { return mul(b, a); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor operator/(const Tensor& a, double b) { return div(a, b); }
inline Tensor operator/(double a, const Tensor& b) { return div(a, b); }
inline Tensor operator-(const Tensor& x) { return neg(x); }

}  // namespace wick
