#include "models/codecs/codec_activations.h"

#include "ops/binary.h"
#include "ops/unary.h"
#include "tensor/arena.h"

namespace wick {

Tensor elu(const Tensor& x) { return add(relu(x), sub(exp(minimum(x, 0)), 1)); }

Tensor SnakeBeta::operator()(const Tensor& x) const { return add(x, mul(sqr(sin(mul(x, alpha))), inverse_beta)); }

SnakeBeta make_snake_beta(const Tensor& log_alpha, const Tensor& log_beta) {
  if (!log_alpha.defined()) return {};
  const ArenaPause keep;
  return {exp(log_alpha), div(1.0, add(exp(log_beta), 1e-9))};
}

}  // namespace wick
