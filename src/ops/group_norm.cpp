#include "ops/group_norm.h"

#include <vector>

#include "ops/add.h"
#include "ops/check.h"
#include "ops/layer_norm.h"
#include "ops/mul.h"
#include "ops/reshape.h"

namespace wick {

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
