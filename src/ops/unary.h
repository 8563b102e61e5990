#pragma once

#include "tensor/tensor.h"

namespace wick {

// |x|; its gradient at 0 is 0.
Tensor abs(const Tensor& x);

// -x
Tensor neg(const Tensor& x);

// x * x
Tensor sqr(const Tensor& x);

// The square root.
Tensor sqrt(const Tensor& x);

// 1 / x
Tensor recip(const Tensor& x);

// e^x
Tensor exp(const Tensor& x);

// The natural logarithm.
Tensor log(const Tensor& x);

// Sine, x in radians.
Tensor sin(const Tensor& x);

// Cosine, x in radians.
Tensor cos(const Tensor& x);

// The hyperbolic tangent.
Tensor tanh(const Tensor& x);

// The error function 2/sqrt(pi) * integral of e^(-t*t) from 0 to x.
Tensor erf(const Tensor& x);

// The next whole number below; its gradient is 0.
Tensor floor(const Tensor& x);

// The next whole number above; its gradient is 0.
Tensor ceil(const Tensor& x);

// The nearest whole number, halves to even; its gradient is 0.
Tensor round(const Tensor& x);

// x limited to [low, high]; NaN stays NaN. The gradient is 0 outside.
Tensor clamp(const Tensor& x, double low, double high);

// max(x, 0)
Tensor relu(const Tensor& x);

// 1 / (1 + e^-x)
Tensor sigmoid(const Tensor& x);

// x * sigmoid(x), also called swish.
Tensor silu(const Tensor& x);

// x * Phi(x), with the exact normal distribution function (the erf form).
Tensor gelu(const Tensor& x);
// The tanh approximation: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
Tensor gelu_tanh(const Tensor& x);

// log(1 + e^x), without overflow.
Tensor softplus(const Tensor& x);

}  // namespace wick
