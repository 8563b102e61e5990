#include "ops/binary.h"

#include "ops/apply.h"
#include "ops/autograd.h"
#include "ops/check.h"
#include "ops/compare.h"
#include "ops/reduction.h"
#include "ops/unary.h"

namespace wick {

Tensor add(const Tensor& a, const Tensor& b) {
  Tensor out = apply_binary("add", BinaryOp::kAdd, a, b);
  if (tracks(a, b)) {
    record(out, "add", {a, b}, [a, b](const Tensor& grad) -> Grads {
      return {a.requires_grad() ? sum_to(grad, a.shape()) : Tensor(),
              b.requires_grad() ? sum_to(grad, b.shape()) : Tensor()};
    });
  }
  return out;
}

Tensor add(const Tensor& a, double b) { return add(a, scalar_beside(a, b)); }

Tensor sub(const Tensor& a, const Tensor& b) {
  Tensor out = apply_binary("sub", BinaryOp::kSub, a, b);
  if (tracks(a, b)) {
    record(out, "sub", {a, b}, [a, b](const Tensor& grad) -> Grads {
      return {a.requires_grad() ? sum_to(grad, a.shape()) : Tensor(),
              b.requires_grad() ? sum_to(neg(grad), b.shape()) : Tensor()};
    });
  }
  return out;
}

Tensor sub(const Tensor& a, double b) { return sub(a, scalar_beside(a, b)); }

Tensor sub(double a, const Tensor& b) { return sub(scalar_beside(b, a), b); }

Tensor mul(const Tensor& a, const Tensor& b) {
  Tensor out = apply_binary("mul", BinaryOp::kMul, a, b);
  if (tracks(a, b)) {
    record(out, "mul", {a, b}, [a, b](const Tensor& grad) -> Grads {
      return {a.requires_grad() ? sum_to(mul(grad, b), a.shape()) : Tensor(),
              b.requires_grad() ? sum_to(mul(grad, a), b.shape()) : Tensor()};
    });
  }
  return out;
}

Tensor mul(const Tensor& a, double b) { return mul(a, scalar_beside(a, b)); }

Tensor div(const Tensor& a, const Tensor& b) {
  Tensor out = apply_binary("div", BinaryOp::kDiv, a, b);
  if (tracks(a, b)) {
    record(out, "div", {a, b}, [a, b](const Tensor& grad) -> Grads {
      return {a.requires_grad() ? sum_to(div(grad, b), a.shape()) : Tensor(),
              b.requires_grad() ? sum_to(neg(div(mul(grad, a), sqr(b))), b.shape()) : Tensor()};
    });
  }
  return out;
}

Tensor div(const Tensor& a, double b) { return div(a, scalar_beside(a, b)); }

Tensor div(double a, const Tensor& b) { return div(scalar_beside(b, a), b); }

Tensor pow(const Tensor& a, const Tensor& b) {
  check_defined("pow", a);
  check_defined("pow", b);
  if (is_integer(a.dtype()) && is_integer(b.dtype()) && b.numel() > 0) {
    const double least = min(b).item();
    if (least < 0) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat("pow: integers to the negative power ", least, "; convert to a float first"));
    }
  }
  Tensor out = apply_binary("pow", BinaryOp::kPow, a, b);
  if (tracks(a, b)) {
    record(out, "pow", {a, b}, [a, b, out = out.detach()](const Tensor& grad) -> Grads {
      Grads grads(2);
      if (a.requires_grad()) {
        // a^0 is flat, also at a = 0, where 0 * 0^-1 would be NaN.
        const Tensor slope = where(eq(b, 0), scalar_beside(out, 0), mul(b, pow(a, sub(b, 1))));
        grads[0] = sum_to(mul(grad, slope), a.shape());
      }
      if (b.requires_grad()) {
        // log(a) only where a > 0: 0^b has no slope in b, and negative bases none at all.
        const Tensor positive = gt(a, 0);
        const Tensor safe = where(positive, a, scalar_beside(a, 1));
        grads[1] = sum_to(mul(grad, mul(out, log(safe))), b.shape());
      }
      return grads;
    });
  }
  return out;
}

Tensor pow(const Tensor& a, double b) { return pow(a, scalar_beside(a, b)); }

Tensor maximum(const Tensor& a, const Tensor& b) {
  Tensor out = apply_binary("maximum", BinaryOp::kMaximum, a, b);
  if (tracks(a, b)) {
    record(out, "maximum", {a, b}, [a, b](const Tensor& grad) -> Grads {
      const Tensor wins = gt(a, b).to_dtype(grad.dtype()), ties = eq(a, b).to_dtype(grad.dtype());
      const Tensor share = add(wins, mul(ties, 0.5));
      return {sum_to(mul(grad, share), a.shape()), sum_to(mul(grad, sub(1, share)), b.shape())};
    });
  }
  return out;
}

Tensor maximum(const Tensor& a, double b) { return maximum(a, scalar_beside(a, b)); }

Tensor minimum(const Tensor& a, const Tensor& b) {
  Tensor out = apply_binary("minimum", BinaryOp::kMinimum, a, b);
  if (tracks(a, b)) {
    record(out, "minimum", {a, b}, [a, b](const Tensor& grad) -> Grads {
      const Tensor wins = lt(a, b).to_dtype(grad.dtype()), ties = eq(a, b).to_dtype(grad.dtype());
      const Tensor share = add(wins, mul(ties, 0.5));
      return {sum_to(mul(grad, share), a.shape()), sum_to(mul(grad, sub(1, share)), b.shape())};
    });
  }
  return out;
}

Tensor minimum(const Tensor& a, double b) { return minimum(a, scalar_beside(a, b)); }

}  // namespace wick
