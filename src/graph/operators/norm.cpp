#include "graph/operators/norm.h"

#include <algorithm>
#include <cmath>

#include "ops/binary.h"
#include "ops/check.h"
#include "ops/compare.h"
#include "ops/layers/norm.h"
#include "ops/reduction.h"
#include "ops/unary.h"
#include "ops/view.h"

namespace wick::graph {
namespace {

Tensor as_rows(const Tensor& x, int64_t columns) { return reshape(x, {columns ? x.numel() / columns : 0, columns}); }
Tensor flat(const Tensor& x) { return x.defined() ? reshape(x, {-1}).to_dtype(DType::kF32) : x; }

// [channels] seen beside [batch, channels, ...].
Tensor by_channel(const Tensor& x, const Tensor& vector) {
  if (x.rank() < 2 || vector.shape() != Shape{x.dim(1)})
    throw Error(ErrorCode::kShape, cat(vector.shape(), " for the channels of ", x.shape()));
  Tensor out = vector;
  for (int d = 2; d < x.rank(); ++d) out = unsqueeze(out, -1);
  return out;
}

}  // namespace

Tensor norm_rows(const Tensor& x, const Tensor& scale, const Tensor& bias, int64_t columns, float epsilon) {
  if (x.dtype() == DType::kF64) {
    const Tensor rows = as_rows(x, columns), centred = sub(rows, mean(rows, {1}, true));
    Tensor out = div(centred, sqrt(add(var(rows, {1}, 0, true), epsilon)));
    if (scale.defined()) out = mul(out, reshape(scale, {-1}));
    if (bias.defined()) out = add(out, reshape(bias, {-1}));
    return reshape(out, x.shape());
  }
  return reshape(layer_norm(as_rows(x.to_dtype(DType::kF32), columns), flat(scale), flat(bias), epsilon), x.shape())
      .to_dtype(x.dtype());
}

Tensor rms_norm_rows(const Tensor& x, const Tensor& scale, int64_t columns, float epsilon) {
  return reshape(rms_norm(as_rows(x.to_dtype(DType::kF32), columns), flat(scale), epsilon), x.shape())
      .to_dtype(x.dtype());
}

namespace {

// Scale and bias as they lie over the normalised dimensions.
Tensor over(const Tensor& vector, const Shape& shape, int axis) {
  if (!vector.defined()) return vector;
  const Shape inner(shape.dims().subspan(static_cast<size_t>(axis)));
  if (vector.shape() == inner) return vector;
  if (broadcast_shapes("scale", vector.shape(), inner) != inner)
    throw Error(ErrorCode::kShape, cat(vector.shape(), " for ", shape, " from axis ", axis));
  return broadcast_view("scale", vector, inner).contiguous();
}

void layer_norm_op(OpRun& run) {
  const Tensor& x = run.tensor(0);
  const int axis = axis_of(run.get("axis", int64_t{-1}), x.rank());
  const int64_t columns = x.numel() ? x.numel() / outer_size(x.shape(), axis) : 1;
  const float epsilon = run.get("epsilon", 1e-5f);
  run.set(0, norm_rows(x, over(run.tensor(1), x.shape(), axis), over(run.tensor_or_none(2), x.shape(), axis), columns,
                       epsilon));
  if (!run.wants(1) && !run.wants(2)) return;
  std::vector<int64_t> sizes(x.shape().begin(), x.shape().end());
  for (int d = axis; d < x.rank(); ++d) sizes[d] = 1;
  const Tensor rows = as_rows(x.to_dtype(DType::kF32), columns);
  run.set(1, reshape(mean(rows, {1}), shape_of(sizes)));
  run.set(2, reshape(recip(sqrt(add(var(rows, {1}), epsilon))), shape_of(sizes)));
}

void rms_norm_op(OpRun& run) {
  const Tensor& x = run.tensor(0);
  const int axis = axis_of(run.get("axis", int64_t{-1}), x.rank());
  const int64_t columns = x.numel() ? x.numel() / outer_size(x.shape(), axis) : 1;
  run.set(0, rms_norm_rows(x, over(run.tensor(1), x.shape(), axis), columns, run.get("epsilon", 1e-5f)));
}

void batch_norm_op(OpRun& run) {
  const Tensor& x = run.tensor(0);
  const double epsilon = run.get("epsilon", 1e-5f), momentum = run.get("momentum", 0.9f);
  const bool training = run.get("training_mode", int64_t{0}) != 0;
  if (!training && run.opset() < 15 && run.output_count() > 1 && run.wants(1))
    throw not_offered("it trains, in the form of opset 14 and older");
  if (run.get("spatial", int64_t{1}) == 0) throw not_offered("spatial is 0");
  Tensor average = run.tensor(3), variance = run.tensor(4);
  if (training) {
    std::vector<int64_t> dims{0};
    for (int d = 2; d < x.rank(); ++d) dims.push_back(d);
    const Tensor now = mean(x, dims), spread = var(x, dims);
    run.set(1, add(mul(average, momentum), mul(now, 1 - momentum)));
    run.set(2, add(mul(variance, momentum), mul(spread, 1 - momentum)));
    average = now, variance = spread;
  }
  const Tensor factor = div(run.tensor(1), sqrt(add(variance, epsilon)));
  const Tensor offset = sub(run.tensor(2), mul(average, factor));
  if (x.rank() == 1) return run.set(0, store(add(mul(x, factor), offset), run.type(0)));
  run.set(0, store(add(mul(x, by_channel(x, factor)), by_channel(x, offset)), run.type(0)));
}

void instance_norm_op(OpRun& run) {
  const Tensor& x = run.tensor(0);
  if (x.rank() < 2) throw Error(ErrorCode::kShape, cat("the input is ", x.shape()));
  run.set(0, group_norm(x, x.dim(1), run.tensor(1), run.tensor(2), run.get("epsilon", 1e-5f)));
}

void group_norm_op(OpRun& run) {
  const Tensor& x = run.tensor(0);
  const int64_t groups = run.needed("num_groups");
  Tensor scale = run.tensor(1), bias = run.tensor(2);
  if (x.rank() < 2 || groups < 1 || x.dim(1) % groups != 0)
    throw Error(ErrorCode::kShape, cat(groups, " groups of ", x.shape()));
  if (run.opset() < 21) {  // one number per group
    const auto spread = [&](const Tensor& v) {
      return reshape(broadcast_as(reshape(v, {groups, 1}), {groups, x.dim(1) / groups}), {x.dim(1)});
    };
    scale = spread(scale), bias = spread(bias);
  }
  run.set(0, group_norm(x, groups, scale, bias, run.get("epsilon", 1e-5f)));
}

void lrn_op(OpRun& run) {
  const Doubles x(run.tensor(0));
  if (x.shape().rank() < 2) throw Error(ErrorCode::kShape, cat("the input is ", x.shape()));
  const double alpha = run.get("alpha", 1e-4f), beta = run.get("beta", 0.75f), bias = run.get("bias", 1.0f);
  const int64_t size = run.needed("size"), channels = x.shape()[1], inner = inner_size(x.shape(), 1);
  if (size < 1) throw bad_input(cat("size is ", size));
  Doubles out(x.shape());
  for (int64_t i = 0; i < x.size(); ++i) {
    const int64_t c = i / inner % channels, low = std::max<int64_t>(0, c - (size - 1) / 2),
                  high = std::min(channels - 1, c + size / 2);
    double total = 0;
    for (int64_t j = low; j <= high; ++j) total += x[i + (j - c) * inner] * x[i + (j - c) * inner];
    out.out()[i] = x[i] / std::pow(bias + alpha / static_cast<double>(size) * total, beta);
  }
  run.set(0, store(out.tensor(), run.type(0)));
}

void mvn_op(OpRun& run) {
  const Tensor& x = run.tensor(0);
  std::vector<int64_t> axes = run.ints("axes");
  if (axes.empty()) axes = {0, 2, 3};
  for (int64_t& axis : axes) axis = axis_of(axis, x.rank());
  const Tensor centred = sub(x, mean(x, axes, true));
  run.set(0, div(centred, add(sqrt(mean(sqr(centred), axes, true)), 1e-9)));
}

void lp_norm_op(OpRun& run) {
  const Tensor& x = run.tensor(0);
  const int64_t p = run.get("p", int64_t{2}), axis = axis_of(run.get("axis", int64_t{-1}), x.rank());
  if (p != 1 && p != 2) throw not_offered(cat("p is ", p));
  const Tensor size = p == 1 ? sum(abs(x), {axis}, true) : sqrt(sum(sqr(x), {axis}, true));
  const Tensor safe = add(size, eq(size, 0).to_dtype(size.dtype()));  // of zeros nothing is left
  run.set(0, div(x, safe));
}

}  // namespace

void simplified_layer_norm_op(OpRun& run) { rms_norm_op(run); }

namespace {

constexpr Operator kOperators[] = {
    {"BatchNormalization", batch_norm_op, "epsilon momentum training_mode spatial is_test consumed_inputs"},
    {"GroupNormalization", group_norm_op, "epsilon num_groups stash_type"},
    {"InstanceNormalization", instance_norm_op, "epsilon consumed_inputs"},
    {"LRN", lrn_op, "alpha beta bias size"},
    {"LayerNormalization", layer_norm_op, "axis epsilon stash_type"},
    {"LpNormalization", lp_norm_op, "axis p"},
    {"MeanVarianceNormalization", mvn_op, "axes"},
    {"RMSNormalization", rms_norm_op, "axis epsilon stash_type"},
    {"SimplifiedLayerNormalization", simplified_layer_norm_op, "axis epsilon stash_type"},
};

}  // namespace

Operators norm_operators() { return kOperators; }

}  // namespace wick::graph
