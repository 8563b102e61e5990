#include "ops/gelu.h"

#include <cmath>
#include <numbers>

#include "ops/add.h"
#include "ops/autograd.h"
#include "ops/elementwise.h"
#include "ops/erf.h"
#include "ops/exp.h"
#include "ops/mul.h"
#include "ops/sqr.h"
#include "ops/sub.h"
#include "ops/tanh.h"

namespace wick {

Tensor gelu(const Tensor& x) {
  Tensor out = apply_unary("gelu", UnaryOp::kGelu, x);
  if (tracks(x)) {
    record(out, "gelu", {x}, [x](const Tensor& grad) -> Grads {
      const Tensor cdf = mul(add(erf(mul(x, std::numbers::sqrt2 / 2)), 1), 0.5);
      const Tensor pdf = mul(exp(mul(sqr(x), -0.5)), std::numbers::inv_sqrtpi * std::numbers::sqrt2 / 2);
      return {mul(grad, add(cdf, mul(x, pdf)))};
    });
  }
  return out;
}

Tensor gelu_tanh(const Tensor& x) {
  Tensor out = apply_unary("gelu_tanh", UnaryOp::kGeluTanh, x);
  if (tracks(x)) {
    record(out, "gelu_tanh", {x}, [x](const Tensor& grad) -> Grads {
      constexpr double kCubic = 0.044715;
      const double scale = std::sqrt(2 / std::numbers::pi);
      const Tensor t = tanh(mul(mul(x, add(mul(sqr(x), kCubic), 1)), scale));
      const Tensor inner_slope = mul(add(mul(sqr(x), 3 * kCubic), 1), scale);
      const Tensor slope = mul(add(add(t, 1), mul(mul(x, sub(1, sqr(t))), inner_slope)), 0.5);
      return {mul(grad, slope)};
    });
  }
  return out;
}

}  // namespace wick
