#include "ops/layers/norm.h"

#include <vector>

#include "ops/autograd.h"
#include "ops/binary.h"
#include "ops/check.h"
#include "ops/reduction.h"
#include "ops/unary.h"
#include "ops/view.h"

namespace wick {

void check_norm_vector(const char* op, const char* what, const Tensor& x, const Tensor& vector) {
  if (!vector.defined()) return;
  check_float(op, vector);
  check_same_device(op, {&x, &vector});
  if (vector.rank() != 1 || vector.dim(0) != x.dim(-1)) {
    throw Error(ErrorCode::kShape, cat(op, ": ", what, " ", vector.shape(), " for the last dimension of ", x.shape()));
  }
}

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, float eps) {
  check_float("layer_norm", x);
  if (x.rank() < 1) throw Error(ErrorCode::kShape, "layer_norm: a scalar has no last dimension");
  check_norm_vector("layer_norm", "weight", x, weight);
  check_norm_vector("layer_norm", "bias", x, bias);
  const auto kernel = find_kernel("layer_norm", x.device(), &KernelTable::layer_norm);
  Tensor out = empty_like(x);
  kernel(x, weight, bias, eps, out);
  if (tracks(x, weight, bias)) {
    record(out, "layer_norm", {x, weight, bias}, [x, weight, bias, eps](const Tensor& grad) -> Grads {
      const Tensor centred = sub(x, mean(x, {-1}, true));
      const Tensor inverse = recip(sqrt(add(var(x, {-1}, 0, true), eps)));
      const Tensor normal = mul(centred, inverse);
      Grads grads(3);
      const Tensor g = weight.defined() ? mul(grad, weight) : grad;
      const Tensor along = mul(normal, mean(mul(g, normal), {-1}, true));
      if (x.requires_grad()) grads[0] = mul(inverse, sub(sub(g, mean(g, {-1}, true)), along));
      if (weight.requires_grad()) grads[1] = sum_to(mul(grad, normal), weight.shape());
      if (bias.requires_grad()) grads[2] = sum_to(grad, bias.shape());
      return grads;
    });
  }
  return out;
}

Tensor rms_norm(const Tensor& x, const Tensor& weight, float eps) {
  check_float("rms_norm", x);
  if (x.rank() < 1) throw Error(ErrorCode::kShape, "rms_norm: a scalar has no last dimension");
  check_norm_vector("rms_norm", "weight", x, weight);
  const auto kernel = find_kernel("rms_norm", x.device(), &KernelTable::rms_norm);
  Tensor out = empty_like(x);
  kernel(x, weight, eps, out);
  if (tracks(x, weight)) {
    record(out, "rms_norm", {x, weight}, [x, weight, eps](const Tensor& grad) -> Grads {
      const Tensor inverse = recip(sqrt(add(mean(sqr(x), {-1}, true), eps)));
      const Tensor normal = mul(x, inverse);
      Grads grads(2);
      const Tensor g = weight.defined() ? mul(grad, weight) : grad;
      if (x.requires_grad()) grads[0] = mul(inverse, sub(g, mul(normal, mean(mul(g, normal), {-1}, true))));
      if (weight.requires_grad()) grads[1] = sum_to(mul(grad, normal), weight.shape());
      return grads;
    });
  }
  return out;
}

Tensor group_norm(const Tensor& x, int64_t groups, const Tensor& weight, const Tensor& bias, float eps) {
  check_float("group_norm", x);
  if (x.rank() < 2) throw Error(ErrorCode::kShape, cat("group_norm: ", x.shape(), " has no channel dimension"));
  const int64_t channels = x.dim(1);
  if (groups < 1 || channels % groups != 0) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("group_norm: ", channels, " channels do not divide into ", groups, " groups"));
  }
  check_same_device("group_norm", {&x, &weight, &bias});
  for (const Tensor* vector : {&weight, &bias}) {
    if (!vector->defined()) continue;
    check_float("group_norm", *vector);
    if (!(vector->shape() == Shape{channels})) {
      throw Error(ErrorCode::kShape,
                  cat("group_norm: weight or bias ", vector->shape(), " for ", channels, " channels"));
    }
  }
  if (x.numel() == 0) return x.clone();
  const Tensor rows = reshape(x, {x.dim(0) * groups, -1});
  Tensor out = reshape(layer_norm(rows, Tensor(), Tensor(), eps), x.shape());
  std::vector<int64_t> per_channel(x.rank() - 1, 1);
  per_channel[0] = channels;
  if (weight.defined()) out = mul(out, reshape(weight, per_channel));
  if (bias.defined()) out = add(out, reshape(bias, per_channel));
  return out.to_dtype(x.dtype());  // f32 weights beside f16 activations do not widen them, as in layer_norm
}

}  // namespace wick
