#include "graph/operators/quantised.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "base/thread_pool.h"
#include "graph/float8.h"
#include "graph/operators/matmul.h"
#include "graph/operators/window.h"
#include "ops/binary.h"
#include "ops/reduction.h"
#include "ops/unary.h"
#include "ops/view.h"

namespace wick::graph {

Scaling scaling_of(OpRun& run, const Tensor& x, int scale, int zero, int axis, int64_t block) {
  Scaling s;
  s.scale = run.tensor(scale).to_dtype(DType::kF32).contiguous();
  if (run.has(zero)) s.zero = run.tensor(zero).to_dtype(DType::kF32).contiguous();
  s.axis = axis, s.block = block;
  const auto fits = [&](const Tensor& v) {
    if (!v.defined() || v.numel() == 1) return true;
    if (axis >= x.rank()) return false;
    if (block == 0) return v.rank() == 1 && v.dim(0) == x.dim(axis);
    return block > 0 && v.rank() == x.rank() && v.shape() == x.shape().with(axis, ceil_div(x.dim(axis), block));
  };
  if (!fits(s.scale) || !fits(s.zero))
    throw Error(ErrorCode::kShape,
                cat("scale ", s.scale.shape(), s.zero.defined() ? cat(" and zero point ", s.zero.shape()) : "", " for ",
                    x.shape(), " along axis ", axis));
  if (s.zero.defined() && s.zero.numel() != s.scale.numel()) {
    if (s.zero.numel() == 1) {
      s.zero = broadcast_as(reshape(s.zero, Shape{}), s.scale.shape()).contiguous();
    } else {
      throw Error(ErrorCode::kShape, cat("scale ", s.scale.shape(), " and zero point ", s.zero.shape()));
    }
  }
  return s;
}

namespace {

// body(from, to, count, scale, zero) for each run of elements with one scale.
template <typename Body>
Tensor by_scale(const Tensor& source, const Scaling& s, Body body) {
  const Tensor x = source.to_dtype(DType::kF32).contiguous(), out = empty(x.shape());
  const float* from = x.data<float>();
  float* to = out.mutable_data<float>();
  const float* scale = s.scale.data<float>();
  const float* zero = s.zero.defined() ? s.zero.data<float>() : nullptr;
  constexpr int64_t kPiece = 8192;
  if (s.scale.numel() == 1) {
    parallel_for(x.numel(), kPiece, [&](int64_t begin, int64_t end) {
      body(from + begin, to + begin, end - begin, scale[0], zero ? zero[0] : 0.0f);
    });
    return out;
  }
  const int64_t size = x.dim(s.axis), inner = inner_size(x.shape(), s.axis),
                rows = outer_size(x.shape(), s.axis) * size, blocks = s.block ? ceil_div(size, s.block) : 0;
  parallel_for(rows, std::max<int64_t>(1, kPiece / std::max<int64_t>(inner, 1)), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      if (s.block == 0) {
        body(from + row * inner, to + row * inner, inner, scale[row % size], zero ? zero[row % size] : 0.0f);
        continue;
      }
      const int64_t first = (row / size * blocks + row % size / s.block) * inner;
      for (int64_t i = 0; i < inner; ++i)
        body(from + row * inner + i, to + row * inner + i, 1, scale[first + i], zero ? zero[first + i] : 0.0f);
    }
  });
  return out;
}

// The nearest whole number, halves to even, of |x| < 2^22.
float nearest(float x) {
  constexpr float kRound = 12582912;
  return (x + kRound) - kRound;
}

}  // namespace

Tensor dequantise(const Tensor& x, const Scaling& scaling) {
  return by_scale(x, scaling, [](const float* from, float* to, int64_t count, float scale, float zero) {
    for (int64_t i = 0; i < count; ++i) to[i] = (from[i] - zero) * scale;
  });
}

Tensor quantise(const Tensor& x, const Scaling& scaling, double low, double high) {
  const auto least = static_cast<float>(low), most = static_cast<float>(high);
  return by_scale(x, scaling, [&](const float* from, float* to, int64_t count, float scale, float zero) {
    for (int64_t i = 0; i < count; ++i) {
      const float value = from[i] / scale;
      const float bounded = std::min(std::max(value, -2097152.0f), 2097152.0f);
      to[i] = std::min(std::max(nearest(bounded) + zero, least), most);
    }
  });
}

void check_bytes(OpRun& run, int input) {
  run.tensor(input);
  if (is_integer(run.type(input)) && bits_of(run.type(input)) <= 8) return;
  throw Error(ErrorCode::kDType, cat("input ", input + 1, " is ", describe(run.in(input)), ", expected 8 bits"));
}

double lowest_of(ElementType type) { return is_unsigned(type) ? 0 : -std::ldexp(1.0, bits_of(type) - 1); }
double highest_of(ElementType type) {
  return std::ldexp(1.0, is_unsigned(type) ? bits_of(type) : bits_of(type) - 1) - 1;
}

namespace {

int usual_axis(OpRun& run, const Tensor& x) {
  const int64_t axis = run.get("axis", int64_t{1});
  if (x.rank() == 0) return 0;
  // For one scale the axis means nothing, and may be out of range.
  if (run.tensor(1).numel() == 1) return 0;
  return axis_of(axis, x.rank());
}

Value rounded_to(const Tensor& x, const Scaling& s, ElementType type, bool saturate) {
  if (is_small_float(type)) {
    const Tensor scaled = by_scale(x, s, [](const float* from, float* to, int64_t count, float scale, float zero) {
      for (int64_t i = 0; i < count; ++i) to[i] = from[i] / scale + zero;
    });
    const Tensor out = empty(x.shape());
    for (int64_t i = 0; i < x.numel(); ++i)
      out.mutable_data<float>()[i] = round_to_small_float(scaled.data<float>()[i], type, saturate);
    return {out, type};
  }
  return store(quantise(x, s, lowest_of(type), highest_of(type)), type);
}

void quantize_linear_op(OpRun& run) {
  const Tensor& x = run.tensor(0);
  ElementType type = run.has(2) ? run.type(2) : ElementType::kU8;
  if (run.get("output_dtype", int64_t{0}) != 0) type = element_type(run.needed("output_dtype"));
  if (!is_small_float(type) && (!is_integer(type) || bits_of(type) > 16))
    throw not_offered(cat("numbers of type ", type));
  const Scaling s = scaling_of(run, x, 1, 2, usual_axis(run, x), run.get("block_size", int64_t{0}));
  run.set(0, rounded_to(x, s, type, run.get("saturate", int64_t{1}) != 0));
}

void dequantize_linear_op(OpRun& run) {
  const Tensor& x = run.tensor(0);
  const Scaling s = scaling_of(run, x, 1, 2, usual_axis(run, x), run.get("block_size", int64_t{0}));
  ElementType type = run.type(1);
  if (run.get("output_dtype", int64_t{0}) != 0) type = element_type(run.needed("output_dtype"));
  if (run.type(0) == ElementType::kI32 && !s.zero.defined()) {  // whole numbers that f32 may not hold
    const Doubles from(x);
    if (s.scale.numel() == 1) return run.set(0, store(mul(from.tensor(), s.scale.item()), type));
  }
  run.set(0, store(dequantise(x, s), type));
}

void dynamic_quantize_op(OpRun& run) {
  const Tensor x = run.tensor(0).contiguous();
  const float* values = x.data<float>();
  float low = 0, high = 0;
  for (int64_t i = 0; i < x.numel(); ++i) low = std::min(low, values[i]), high = std::max(high, values[i]);
  const float scale = (high - low) / 255;
  const float zero = scale == 0 ? 0 : std::clamp(std::nearbyint(-low / scale), 0.0f, 255.0f);
  Scaling s;
  s.scale = scalar(scale == 0 ? 1 : scale), s.zero = scalar(zero);
  run.set(0, store(quantise(x, s, 0, 255), ElementType::kU8));
  run.set(1, scalar(scale));
  run.set(2, scalar(zero, DType::kU8));
}

// Whole numbers less their zero points, in f32. `vertical`: several zero points are one per row, else one per column.
Tensor centred(OpRun& run, int input, int zero, bool vertical) {
  check_bytes(run, input);
  const Tensor x = run.tensor(input).to_dtype(DType::kF32);
  if (!run.has(zero)) return x;
  const Tensor zeros = run.tensor(zero).to_dtype(DType::kF32);
  if (zeros.numel() == 1) {
    const double value = zeros.item();
    return value == 0 ? x : sub(x, value);
  }
  return sub(x, vertical && zeros.rank() == 1 ? unsqueeze(zeros, -1) : zeros);
}

// No number of an input is larger, less its zero point.
double largest_of(OpRun& run, int input, int zero) {
  const double low = lowest_of(run.type(input)), high = highest_of(run.type(input));
  double largest = std::max(std::fabs(low), high);
  if (!run.has(zero)) return largest;
  for (const int64_t at : run.ints(zero)) {
    const auto point = static_cast<double>(at);
    largest = std::max({largest, std::fabs(low - point), std::fabs(high - point)});
  }
  return run.tensor(zero).numel() == 1
             ? std::max(std::fabs(low - run.number_at(zero)), std::fabs(high - run.number_at(zero)))
             : largest;
}

struct Centred {
  Tensor weight;
};
// The second operand, kept when it never changes.
Tensor centred_weight(OpRun& run, int input, int zero) {
  if (!run.is_constant(input) || (run.has(zero) && !run.is_constant(zero))) return centred(run, input, zero, false);
  Centred& kept = run.prepared<Centred>();
  if (!kept.weight.defined()) {
    kept.weight = centred(run, input, zero, false).contiguous();
  }
  return kept.weight;
}

Tensor as_matrix(const Tensor& x, int dim) { return x.rank() == 1 ? unsqueeze(x, dim) : x; }

void matmul_integer_op(OpRun& run) {
  const bool is_row = run.tensor(0).rank() == 1, is_column = run.tensor(1).rank() == 1;
  Tensor out = multiply_whole(as_matrix(centred(run, 0, 2, true), 0), as_matrix(centred_weight(run, 1, 3), 1),
                              largest_of(run, 0, 2) * largest_of(run, 1, 3));
  if (is_column) out = squeeze(out, -1);
  if (is_row) out = squeeze(out, is_column ? -1 : -2);
  run.set(0, out);
}

// What a sum of whole numbers becomes with an output scale and zero point.
Value requantised(const Tensor& sums, const Tensor& scale, OpRun& run, int out_scale, int out_zero, ElementType type) {
  Scaling s;
  s.scale = reshape(run.tensor(out_scale).to_dtype(DType::kF32), Shape{}),
  s.zero = run.has(out_zero) ? reshape(run.tensor(out_zero).to_dtype(DType::kF32), Shape{}) : scalar(0);
  return store(quantise(mul(sums.to_dtype(DType::kF32), scale), s, lowest_of(type), highest_of(type)), type);
}

// a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero
void qlinear_matmul_op(OpRun& run) {
  const Tensor sums = multiply_whole(as_matrix(centred(run, 0, 2, true), 0), as_matrix(centred_weight(run, 3, 5), 1));
  Tensor a_scale = run.tensor(1).to_dtype(DType::kF32);
  if (a_scale.numel() > 1 && a_scale.rank() == 1) a_scale = unsqueeze(a_scale, -1);
  const ElementType type = run.type(7);
  run.set(0, requantised(sums, mul(a_scale, run.tensor(4).to_dtype(DType::kF32)), run, 6, 7, type));
}

// x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, B
void qlinear_conv_op(OpRun& run) {
  const Tensor &x = run.tensor(0), &w = run.tensor(3);
  if (x.rank() != w.rank() || x.rank() < 3)
    throw Error(ErrorCode::kShape, cat("x ", x.shape(), " and weight ", w.shape()));
  const std::vector<int64_t> kernel(w.shape().begin() + 2, w.shape().end());
  const Window window = window_of(run, x.shape(), kernel);
  const auto along_channels = [&](const Tensor& v, int rank) {
    Tensor column = v;
    while (v.numel() > 1 && column.rank() < rank) column = unsqueeze(column, -1);
    return v.numel() == 1 ? reshape(v, Shape{}) : column;
  };
  Tensor weight = w.to_dtype(DType::kF32);
  if (run.has(5)) weight = sub(weight, along_channels(run.tensor(5).to_dtype(DType::kF32), w.rank()));
  const Tensor image = sub(x.to_dtype(DType::kF32), run.number_at(2));
  const Tensor bias = run.has(8) ? run.tensor(8).to_dtype(DType::kF32) : Tensor();
  const Tensor sums = convolve(image, weight, bias, window, run.get("group", int64_t{1}));
  const Tensor scale = mul(along_channels(run.tensor(4).to_dtype(DType::kF32), w.rank() - 1), run.number_at(1));
  run.set(0, requantised(sums, scale, run, 6, 7, run.type(7)));
}

constexpr Operator kOperators[] = {
    {"DequantizeLinear", dequantize_linear_op, "axis block_size output_dtype"},
    {"DynamicQuantizeLinear", dynamic_quantize_op},
    {"MatMulInteger", matmul_integer_op},
    {"QLinearConv", qlinear_conv_op, "auto_pad dilations group kernel_shape pads strides"},
    {"QLinearMatMul", qlinear_matmul_op},
    {"QuantizeLinear", quantize_linear_op, "axis block_size output_dtype precision saturate"},
};

}  // namespace

Operators quantised_operators() { return kOperators; }

}  // namespace wick::graph
