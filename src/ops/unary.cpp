#include "ops/unary.h"

#include <cmath>
#include <numbers>

#include "ops/apply.h"
#include "ops/autograd.h"
#include "ops/binary.h"
#include "ops/check.h"
#include "ops/compare.h"
#include "tensor/create.h"

namespace wick {

Tensor abs(const Tensor& x) {
  Tensor out = apply_unary_any("abs", UnaryOp::kAbs, x);
  if (tracks(x)) {
    record(out, "abs", {x}, [x](const Tensor& grad) -> Grads {
      return {mul(grad, sub(gt(x, 0).to_dtype(x.dtype()), lt(x, 0).to_dtype(x.dtype())))};
    });
  }
  return out;
}

Tensor neg(const Tensor& x) {
  Tensor out = apply_unary_any("neg", UnaryOp::kNeg, x);
  if (tracks(x)) {
    record(out, "neg", {x}, [](const Tensor& grad) -> Grads { return {neg(grad)}; });
  }
  return out;
}

Tensor sqr(const Tensor& x) {
  Tensor out = apply_unary_any("sqr", UnaryOp::kSqr, x);
  if (tracks(x)) {
    record(out, "sqr", {x}, [x](const Tensor& grad) -> Grads { return {mul(grad, mul(x, 2))}; });
  }
  return out;
}

Tensor sqrt(const Tensor& x) {
  Tensor out = apply_unary("sqrt", UnaryOp::kSqrt, x);
  if (tracks(x)) {
    record(out, "sqrt", {x}, [out = out.detach()](const Tensor& grad) -> Grads { return {div(mul(grad, 0.5), out)}; });
  }
  return out;
}

Tensor recip(const Tensor& x) {
  Tensor out = apply_unary("recip", UnaryOp::kRecip, x);
  if (tracks(x)) {
    record(out, "recip", {x}, [out = out.detach()](const Tensor& grad) -> Grads { return {neg(mul(grad, sqr(out)))}; });
  }
  return out;
}

Tensor exp(const Tensor& x) {
  Tensor out = apply_unary("exp", UnaryOp::kExp, x);
  if (tracks(x)) {
    record(out, "exp", {x}, [out = out.detach()](const Tensor& grad) -> Grads { return {mul(grad, out)}; });
  }
  return out;
}

Tensor log(const Tensor& x) {
  Tensor out = apply_unary("log", UnaryOp::kLog, x);
  if (tracks(x)) {
    record(out, "log", {x}, [x](const Tensor& grad) -> Grads { return {div(grad, x)}; });
  }
  return out;
}

Tensor sin(const Tensor& x) {
  Tensor out = apply_unary("sin", UnaryOp::kSin, x);
  if (tracks(x)) {
    record(out, "sin", {x}, [x](const Tensor& grad) -> Grads { return {mul(grad, cos(x))}; });
  }
  return out;
}

Tensor cos(const Tensor& x) {
  Tensor out = apply_unary("cos", UnaryOp::kCos, x);
  if (tracks(x)) {
    record(out, "cos", {x}, [x](const Tensor& grad) -> Grads { return {neg(mul(grad, sin(x)))}; });
  }
  return out;
}

Tensor tanh(const Tensor& x) {
  Tensor out = apply_unary("tanh", UnaryOp::kTanh, x);
  if (tracks(x)) {
    record(out, "tanh", {x},
           [out = out.detach()](const Tensor& grad) -> Grads { return {mul(grad, sub(1, sqr(out)))}; });
  }
  return out;
}

Tensor erf(const Tensor& x) {
  Tensor out = apply_unary("erf", UnaryOp::kErf, x);
  if (tracks(x)) {
    record(out, "erf", {x}, [x](const Tensor& grad) -> Grads {
      return {mul(grad, mul(exp(neg(sqr(x))), 2 / std::sqrt(std::numbers::pi)))};
    });
  }
  return out;
}

Tensor floor(const Tensor& x) {
  Tensor out = apply_unary_any("floor", UnaryOp::kFloor, x);
  if (tracks(x)) {
    record(out, "floor", {x},
           [](const Tensor& grad) -> Grads { return {zeros(grad.shape(), grad.dtype(), grad.device())}; });
  }
  return out;
}

Tensor ceil(const Tensor& x) {
  Tensor out = apply_unary_any("ceil", UnaryOp::kCeil, x);
  if (tracks(x)) {
    record(out, "ceil", {x},
           [](const Tensor& grad) -> Grads { return {zeros(grad.shape(), grad.dtype(), grad.device())}; });
  }
  return out;
}

Tensor round(const Tensor& x) {
  Tensor out = apply_unary_any("round", UnaryOp::kRound, x);
  if (tracks(x)) {
    record(out, "round", {x},
           [](const Tensor& grad) -> Grads { return {zeros(grad.shape(), grad.dtype(), grad.device())}; });
  }
  return out;
}

Tensor clamp(const Tensor& x, double low, double high) {
  check_defined("clamp", x);
  if (!(low <= high)) throw Error(ErrorCode::kInvalidArgument, cat("clamp: low ", low, " is not below high ", high));
  const auto kernel = find_kernel("clamp", x.device(), &KernelTable::clamp);
  Tensor out = empty_like(x);
  kernel(x, low, high, out);
  if (tracks(x)) {
    record(out, "clamp", {x}, [x, out = out.detach()](const Tensor& grad) -> Grads {
      return {mul(grad, eq(x, out).to_dtype(grad.dtype()))};  // untouched values pass the gradient on
    });
  }
  return out;
}

Tensor relu(const Tensor& x) {
  Tensor out = apply_unary_any("relu", UnaryOp::kRelu, x);
  if (tracks(x)) {
    record(out, "relu", {x}, [x](const Tensor& grad) -> Grads { return {mul(grad, gt(x, 0).to_dtype(x.dtype()))}; });
  }
  return out;
}

Tensor sigmoid(const Tensor& x) {
  Tensor out = apply_unary("sigmoid", UnaryOp::kSigmoid, x);
  if (tracks(x)) {
    record(out, "sigmoid", {x},
           [out = out.detach()](const Tensor& grad) -> Grads { return {mul(grad, mul(out, sub(1, out)))}; });
  }
  return out;
}

Tensor silu(const Tensor& x) {
  Tensor out = apply_unary("silu", UnaryOp::kSilu, x);
  if (tracks(x)) {
    record(out, "silu", {x}, [x](const Tensor& grad) -> Grads {
      const Tensor s = sigmoid(x);
      return {mul(grad, mul(s, add(mul(x, sub(1, s)), 1)))};
    });
  }
  return out;
}

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

Tensor softplus(const Tensor& x) {
  Tensor out = apply_unary("softplus", UnaryOp::kSoftplus, x);
  if (tracks(x)) {
    record(out, "softplus", {x}, [x](const Tensor& grad) -> Grads { return {mul(grad, sigmoid(x))}; });
  }
  return out;
}

}  // namespace wick
