#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/numbers.h"
#include "graph/operators.h"
#include "ops/binary.h"
#include "ops/rearrange.h"
#include "ops/reduction.h"
#include "ops/sort.h"
#include "ops/unary.h"
#include "ops/view.h"

namespace wick::graph {
namespace {

enum class Reduction : uint8_t { kSum, kMean, kMax, kMin, kProd, kL1, kL2, kLogSum, kLogSumExp, kSumSquare };

std::vector<int64_t> axes_of(OpRun& run) { return run.has(1) ? run.ints(1) : run.ints("axes"); }

// The value of no elements.
double identity(Reduction kind, ElementType type) {
  const bool is_real = is_float(type);
  const double infinity = std::numeric_limits<double>::infinity();
  const int bits = type == ElementType::kBool ? 1 : bits_of(type);
  const double high = std::ldexp(1.0, is_unsigned(type) || bits == 1 ? bits : bits - 1) - 1;
  switch (kind) {
    case Reduction::kProd: return 1;
    case Reduction::kMax: return is_real ? -infinity : is_unsigned(type) || bits == 1 ? 0 : -high - 1;
    case Reduction::kMin: return is_real ? infinity : high;
    case Reduction::kLogSum:
    case Reduction::kLogSumExp: return -infinity;
    case Reduction::kMean: return std::numeric_limits<double>::quiet_NaN();
    default: return 0;
  }
}

Tensor product(const Tensor& x, const std::vector<int64_t>& axes, const Shape& kept) {
  // Reduced dimensions last, then one row after the other.
  std::vector<int64_t> order;
  const auto is_reduced = [&](int64_t d) { return std::find(axes.begin(), axes.end(), d) != axes.end(); };
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (!is_reduced(d)) order.push_back(d);
  }
  order.insert(order.end(), axes.begin(), axes.end());
  const Tensor rows = permute(x, order);
  const int64_t count = kept.numel(), length = count ? x.numel() / count : 0;
  if (is_float(x.dtype())) {
    const Doubles from(rows);
    Doubles out(kept);
    for (int64_t i = 0; i < count; ++i) {
      double total = 1;
      for (int64_t j = 0; j < length; ++j) total *= from[i * length + j];
      out.out()[i] = total;
    }
    return out.tensor().to_dtype(x.dtype());
  }
  const Longs from(rows);
  Longs out(kept);
  for (int64_t i = 0; i < count; ++i) {
    uint64_t total = 1;
    for (int64_t j = 0; j < length; ++j) total *= static_cast<uint64_t>(from[i * length + j]);
    out.out()[i] = static_cast<int64_t>(total);
  }
  return out.tensor();
}

Tensor reduced(Reduction kind, const Tensor& x, const std::vector<int64_t>& axes, const Shape& kept) {
  const bool is_real = is_float(x.dtype());
  switch (kind) {
    case Reduction::kSum: return sum(x, axes, true);
    case Reduction::kMean: return mean(x, axes, true);
    case Reduction::kMax: return max(x, axes, true);
    case Reduction::kMin: return min(x, axes, true);
    case Reduction::kProd: return product(x, axes, kept);
    case Reduction::kL1: return sum(is_real ? abs(x) : abs(x.to_dtype(DType::kF64)), axes, true);
    case Reduction::kL2: return sqrt(sum(sqr(is_real ? x : x.to_dtype(DType::kF64)), axes, true));
    case Reduction::kLogSum: return log(sum(is_real ? x : x.to_dtype(DType::kF64), axes, true));
    case Reduction::kSumSquare: return sum(is_real ? sqr(x) : sqr(x.to_dtype(DType::kF64)), axes, true);
    case Reduction::kLogSumExp: break;
  }
  const Tensor values = is_real ? x : x.to_dtype(DType::kF64);
  Tensor top = max(values, axes, true);
  top = clamp(top, -std::numeric_limits<double>::max(), std::numeric_limits<double>::max());  // of nothing but -inf
  return add(log(sum(exp(sub(values, top)), axes, true)), top);
}

template <Reduction kKind>
void reduce_op(OpRun& run) {
  const Tensor& x = run.tensor(0);
  std::vector<int64_t> axes;
  for (const int64_t axis : axes_of(run)) axes.push_back(axis_of(axis, x.rank()));
  if (axes.empty()) {
    if (run.get("noop_with_empty_axes", int64_t{0})) return run.set(0, run.in(0));
    for (int64_t d = 0; d < x.rank(); ++d) axes.push_back(d);
  }
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  Shape kept = x.shape(), dropped = x.shape();
  for (size_t i = axes.size(); i-- > 0;) {
    kept = kept.with(static_cast<int>(axes[i]), 1);
    dropped = dropped.without(static_cast<int>(axes[i]));
  }
  const Shape shape = run.get("keepdims", int64_t{1}) ? kept : dropped;
  const ElementType type = run.type(0);
  if (x.numel() == 0)
    return run.set(0, store(full(shape, identity(kKind, type), is_float(type) ? DType::kF64 : DType::kI64), type));
  // Of a scalar there is nothing to reduce, but the logarithm and the like still apply.
  const bool scalar_input = x.rank() == 0;
  const Tensor source = scalar_input ? reshape(x, {1}) : x;
  if (scalar_input) axes = {0};
  const Tensor out = reduced(kKind, source, axes, scalar_input ? Shape{1} : kept);
  const Tensor whole = !is_float(type) && is_float(out.dtype()) ? out.to_dtype(DType::kI64) : out;
  run.set(0, store(reshape(whole, shape), type));
}

template <bool kLargest>
void arg_op(OpRun& run) {
  const Tensor& x = run.tensor(0);
  const int axis = axis_of(run.get("axis", int64_t{0}), x.rank());
  const bool last = run.get("select_last_index", int64_t{0}) != 0;
  const Tensor source = last ? flip(x, {axis}) : x;
  Tensor out = kLargest ? argmax(source, axis, true) : argmin(source, axis, true);
  if (last) out = sub(static_cast<double>(x.dim(axis) - 1), out);
  run.set(0, run.get("keepdims", int64_t{1}) ? out : squeeze(out, axis));
}

void top_k_op(OpRun& run) {
  const Tensor& x = run.tensor(0);
  const int axis = axis_of(run.get("axis", int64_t{-1}), x.rank());
  const int64_t k = run.has(1) ? run.int_at(1) : run.needed("k");
  if (k < 0 || k > x.dim(axis)) throw bad_input(cat("k is ", k, " for ", x.dim(axis), " elements"));
  const Sorted found = topk(x, k, axis, run.get("largest", int64_t{1}) != 0);
  run.set(0, found.values, run.type(0));
  run.set(1, found.indices);
}

void cumsum_op(OpRun& run) {
  Tensor x = run.tensor(0);
  const int axis = axis_of(run.int_at(1), x.rank());
  const bool reverse = run.get("reverse", int64_t{0}) != 0;
  if (reverse) x = flip(x, {axis});
  Tensor out = cumsum(x, axis);
  if (run.get("exclusive", int64_t{0})) {
    const int64_t length = x.dim(axis);
    out = narrow(pad(out, axis, 1, 0), axis, 0, length);
  }
  run.set(0, reverse ? flip(out, {axis}) : out, run.type(0));
}

constexpr std::string_view kReduce = "axes keepdims noop_with_empty_axes";
constexpr Operator kOperators[] = {
    {"ArgMax", arg_op<true>, "axis keepdims select_last_index"},
    {"ArgMin", arg_op<false>, "axis keepdims select_last_index"},
    {"CumSum", cumsum_op, "exclusive reverse"},
    {"ReduceL1", reduce_op<Reduction::kL1>, kReduce},
    {"ReduceL2", reduce_op<Reduction::kL2>, kReduce},
    {"ReduceLogSum", reduce_op<Reduction::kLogSum>, kReduce},
    {"ReduceLogSumExp", reduce_op<Reduction::kLogSumExp>, kReduce},
    {"ReduceMax", reduce_op<Reduction::kMax>, kReduce},
    {"ReduceMean", reduce_op<Reduction::kMean>, kReduce},
    {"ReduceMin", reduce_op<Reduction::kMin>, kReduce},
    {"ReduceProd", reduce_op<Reduction::kProd>, kReduce},
    {"ReduceSum", reduce_op<Reduction::kSum>, kReduce},
    {"ReduceSumSquare", reduce_op<Reduction::kSumSquare>, kReduce},
    {"TopK", top_k_op, "axis k largest sorted"},
};

}  // namespace

Operators reduce_operators() { return kOperators; }

}  // namespace wick::graph
