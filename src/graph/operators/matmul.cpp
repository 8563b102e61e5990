#include "graph/operators/matmul.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "graph/operators/float_maps.h"
#include "ops/binary.h"
#include "ops/check.h"
#include "ops/layers/matmul.h"
#include "ops/reduction.h"
#include "ops/unary.h"
#include "ops/view.h"

namespace wick::graph {
namespace {

// Whole numbers, in plain loops.
Tensor multiply_longs(const Tensor& a, const Tensor& b) {
  const int64_t m = a.dim(-2), k = a.dim(-1), n = b.dim(-1);
  if (b.dim(-2) != k) throw Error(ErrorCode::kShape, cat(a.shape(), " x ", b.shape(), ": inner dimensions differ"));
  const auto batch_of = [](const Shape& s) { return Shape(s.dims().first(static_cast<size_t>(s.rank() - 2))); };
  const Shape batch = broadcast_shapes("matmul", batch_of(a.shape()), batch_of(b.shape()));
  const auto matrix = [&](int64_t rows, int64_t columns) {
    return batch.inserted(batch.rank(), rows).inserted(batch.rank() + 1, columns);
  };
  const Longs left(broadcast_view("matmul", a, matrix(m, k))), right(broadcast_view("matmul", b, matrix(k, n)));
  Longs out(matrix(m, n));
  for (int64_t row = 0; row < batch.numel() * m; ++row) {
    for (int64_t j = 0; j < n; ++j) {
      uint64_t total = 0;
      for (int64_t i = 0; i < k; ++i) {
        total += static_cast<uint64_t>(left[row * k + i]) * static_cast<uint64_t>(right[(row / m * k + i) * n + j]);
      }
      out.out()[row * n + j] = static_cast<int64_t>(total);
    }
  }
  return out.tensor();
}

}  // namespace

Tensor multiply(const Tensor& a, const Tensor& b) {
  if (a.rank() == 0 || b.rank() == 0) throw Error(ErrorCode::kShape, cat(a.shape(), " x ", b.shape(), ": a scalar"));
  const Tensor left = a.rank() == 1 ? unsqueeze(a, 0) : a, right = b.rank() == 1 ? unsqueeze(b, 1) : b;
  Tensor out = is_float(a.dtype()) ? matmul(left, right) : multiply_longs(left, right);
  if (b.rank() == 1) out = squeeze(out, -1);
  if (a.rank() == 1) out = squeeze(out, b.rank() == 1 ? -1 : -2);
  return out;
}

Tensor multiply_whole(const Tensor& a, const Tensor& b, double largest) {
  // Sums below 2^24 are whole numbers that f32 holds.
  const auto exact = static_cast<int64_t>(0x1p24 / std::max(largest, 1.0));
  const int64_t k = a.dim(-1);
  if (k != b.dim(-2)) {
    throw Error(ErrorCode::kShape, cat(a.shape(), " x ", b.shape(), ": inner dimensions differ"));
  }
  if (k <= exact) return matmul(a, b).to_dtype(DType::kI32);
  Tensor total;
  for (int64_t at = 0; at < std::max<int64_t>(k, 1); at += exact) {
    const int64_t count = std::min(exact, k - at);
    const Tensor part = matmul(narrow(a, -1, at, count), narrow(b, -2, at, count)).to_dtype(DType::kI32);
    total = total.defined() ? add(total, part) : part;
  }
  return total;
}

namespace {

void matmul_op(OpRun& run) {
  const Tensor &a = run.tensor(0), &b = run.tensor(1);
  if (run.type(0) != run.type(1))
    throw Error(ErrorCode::kDType, cat("inputs are ", describe(run.in(0)), " and ", describe(run.in(1))));
  const Tensor out = multiply(a, b);
  if (run.has(2)) {  // fused, as is the activation
    const Tensor& bias = run.tensor(2);
    if (out.rank() < 1 || bias.shape() != Shape{out.dim(-1)})
      throw Error(ErrorCode::kShape, cat("bias ", bias.shape(), " for ", out.shape()));
    add_row_in_place(out, bias);
  }
  activate_in_place(out, run.get("activation", ""), {});
  run.set(0, store(out, run.type(0)));
}

void gemm_op(OpRun& run) {
  Tensor a = run.tensor(0), b = run.tensor(1);
  const ElementType type = run.type(0);
  if (a.rank() != 2 || b.rank() != 2)
    throw Error(ErrorCode::kShape, cat("inputs are ", a.shape(), " and ", b.shape(), ", expected matrices"));
  if (run.type(1) != type)
    throw Error(ErrorCode::kDType, cat("inputs are ", describe(run.in(0)), " and ", describe(run.in(1))));
  if (run.get("transA", int64_t{0})) a = transpose(a, 0, 1);
  if (run.get("transB", int64_t{0})) b = transpose(b, 0, 1);
  const double alpha = run.get("alpha", 1.0f), beta = run.get("beta", 1.0f);
  Tensor out = multiply(a, b);
  if (alpha != 1) out = mul(out, alpha);
  const bool fresh_rows = beta == 1 && run.has(2) && out.dtype() == DType::kF32 &&
                          run.tensor(2).dtype() == DType::kF32 && out.is_contiguous();
  if (fresh_rows && run.tensor(2).shape() == Shape{out.dim(1)}) {
    add_row_in_place(out, run.tensor(2));
  } else if (run.has(2)) {
    const Tensor c = beta == 1 ? run.tensor(2) : mul(run.tensor(2), beta);
    if (broadcast_shapes("C", out.shape(), c.shape()) != out.shape())
      throw Error(ErrorCode::kShape, cat("C ", c.shape(), " for ", out.shape()));
    out = add(out, c);
  }
  run.set(0, store(is_float(type) || is_integer(out.dtype()) ? out : out.to_dtype(DType::kI64), type));
}

// --- Einsum ---

struct Labelled {
  Tensor tensor;
  std::string labels;  // one letter per dimension
};

// Dimensions of the same letter become their diagonal.
Labelled without_repeats(Labelled x) {
  for (size_t i = 0; i < x.labels.size(); ++i) {
    const size_t again = x.labels.find(x.labels[i], i + 1);
    if (again == std::string::npos) continue;
    const int first = static_cast<int>(i), second = static_cast<int>(again);
    if (x.tensor.dim(first) != x.tensor.dim(second))
      throw Error(ErrorCode::kShape, cat("sizes of '", x.labels[i], "' differ in ", x.tensor.shape()));
    Layout layout = x.tensor.layout();
    layout.strides[first] += layout.strides[second];
    for (int d = second; d + 1 < x.tensor.rank(); ++d) layout.strides[d] = layout.strides[d + 1];
    layout.shape = layout.shape.without(second);
    x = {x.tensor.with_layout(layout), x.labels.substr(0, again) + x.labels.substr(again + 1)};
    --i;
  }
  return x;
}

// Sums over the letters that nobody else needs.
Labelled without(Labelled x, const std::string& needed) {
  for (size_t i = x.labels.size(); i-- > 0;) {
    if (needed.find(x.labels[i]) != std::string::npos) continue;
    x.tensor = sum(x.tensor, {static_cast<int64_t>(i)});
    x.labels.erase(i, 1);
  }
  return x;
}

Tensor ordered(const Labelled& x, const std::string& labels) {
  std::vector<int64_t> order;
  for (const char label : labels) order.push_back(static_cast<int64_t>(x.labels.find(label)));
  return permute(x.tensor, order);
}

// The product over all letters of both, summed over those that are not needed: one batched matrix product.
Labelled join(const Labelled& a, const Labelled& b, const std::string& needed) {
  std::string batch, shared, left, right;
  for (const char label : a.labels) {
    const bool both = b.labels.find(label) != std::string::npos, stays = needed.find(label) != std::string::npos;
    (both ? (stays ? batch : shared) : left) += label;
  }
  for (const char label : b.labels) {
    if (a.labels.find(label) == std::string::npos) right += label;
  }
  std::map<char, int64_t> sizes;
  for (const Labelled* x : {&a, &b}) {
    for (size_t i = 0; i < x->labels.size(); ++i) {
      const auto [known, is_new] = sizes.emplace(x->labels[i], x->tensor.dim(static_cast<int>(i)));
      const int64_t size = x->tensor.dim(static_cast<int>(i));
      if (!is_new && known->second != size)
        throw Error(ErrorCode::kShape, cat("sizes ", known->second, " and ", size, " of one letter"));
    }
  }
  const auto count = [&](const std::string& labels) {
    int64_t total = 1;
    for (const char label : labels) total *= sizes[label];
    return total;
  };
  const Tensor x = reshape(ordered(a, batch + left + shared), {count(batch), count(left), count(shared)}),
               y = reshape(ordered(b, batch + shared + right), {count(batch), count(shared), count(right)});
  const std::string labels = batch + left + right;
  std::vector<int64_t> shape;
  for (const char label : labels) shape.push_back(sizes[label]);
  return {reshape(multiply(x, y), shape_of(shape)), labels};
}

void einsum_op(OpRun& run) {
  std::string equation = run.get("equation", "");
  equation.erase(std::remove(equation.begin(), equation.end(), ' '), equation.end());
  const size_t arrow = equation.find("->");
  const std::string left = equation.substr(0, arrow);
  std::vector<std::string> terms(1);
  for (const char c : left) {
    if (c == ',') {
      terms.emplace_back();
    } else {
      terms.back() += c;
    }
  }
  if (std::ssize(terms) != run.input_count())
    throw bad_input(cat("'", equation, "' is about ", terms.size(), " inputs, there are ", run.input_count()));
  // Dimensions behind an ellipsis get letters of their own, counted from the last.
  const auto letter = [](int64_t from_end) { return static_cast<char>(1 + from_end); };
  int64_t most = 0;
  std::vector<Labelled> inputs;
  for (size_t i = 0; i < terms.size(); ++i) {
    const Tensor& x = run.tensor(static_cast<int>(i));
    std::string labels = terms[i];
    if (const size_t dots = labels.find("..."); dots != std::string::npos) {
      const int64_t rest = x.rank() - (std::ssize(labels) - 3);
      if (rest < 0) throw Error(ErrorCode::kShape, cat("'", terms[i], "' for ", x.shape()));
      std::string expanded;
      for (int64_t d = rest; d-- > 0;) expanded += letter(d);
      labels.replace(dots, 3, expanded);
      most = std::max(most, rest);
    }
    if (std::ssize(labels) != x.rank()) throw Error(ErrorCode::kShape, cat("'", terms[i], "' for ", x.shape()));
    inputs.push_back(without_repeats({x, labels}));
  }
  std::string ellipsis, output;
  for (int64_t d = most; d-- > 0;) ellipsis += letter(d);
  if (arrow == std::string::npos) {
    std::map<char, int> counts;
    for (const char c : left) {
      if (c != ',' && c != '.') ++counts[c];
    }
    output = ellipsis;
    for (const auto& entry : counts) {
      if (entry.second == 1) output += entry.first;
    }
  } else {
    output = equation.substr(arrow + 2);
    if (const size_t dots = output.find("..."); dots != std::string::npos) output.replace(dots, 3, ellipsis);
  }
  for (const char c : output) {
    const bool known = std::any_of(inputs.begin(), inputs.end(),
                                   [&](const Labelled& x) { return x.labels.find(c) != std::string::npos; });
    if (!known || std::count(output.begin(), output.end(), c) > 1)
      throw bad_input(cat("'", equation, "' asks for a letter that no input has, or twice for one"));
  }
  // Sizes of 1 broadcast where an ellipsis says so.
  for (const char c : ellipsis) {
    int64_t size = 1;
    for (const Labelled& x : inputs) {
      const size_t at = x.labels.find(c);
      if (at != std::string::npos) size = std::max(size, x.tensor.dim(static_cast<int>(at)));
    }
    for (Labelled& x : inputs) {
      const size_t at = x.labels.find(c);
      if (at == std::string::npos || x.tensor.dim(static_cast<int>(at)) == size) continue;
      x.tensor = broadcast_as(x.tensor, x.tensor.shape().with(static_cast<int>(at), size));
    }
  }
  Labelled total = inputs[0];
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::string needed = output;
    for (size_t j = i + 1; j < inputs.size(); ++j) needed += inputs[j].labels;
    if (i == 0) {
      total = without(inputs[0], needed);
    } else {
      total = join(without(total, needed + inputs[i].labels), without(inputs[i], needed + total.labels), needed);
    }
  }
  run.set(0, store(ordered(total, output).contiguous(), run.type(0)));
}

void det_op(OpRun& run) {
  const Tensor& x = run.tensor(0);
  if (x.rank() < 2 || x.dim(-1) != x.dim(-2))
    throw Error(ErrorCode::kShape, cat("the input is ", x.shape(), ", expected square matrices"));
  const int64_t n = x.dim(-1);
  const Shape batch(x.shape().dims().first(static_cast<size_t>(x.rank() - 2)));
  Doubles out(batch);
  const Doubles from(x);
  for (int64_t b = 0; b < batch.numel(); ++b) {
    std::vector<double> m(from.data() + b * n * n, from.data() + (b + 1) * n * n);
    double det = 1;
    for (int64_t c = 0; c < n && det != 0; ++c) {
      int64_t best = c;
      for (int64_t r = c + 1; r < n; ++r) {
        if (std::fabs(m[r * n + c]) > std::fabs(m[best * n + c])) best = r;
      }
      if (best != c) {
        std::swap_ranges(m.begin() + c * n, m.begin() + (c + 1) * n, m.begin() + best * n);
        det = -det;
      }
      det *= m[c * n + c];
      for (int64_t r = c + 1; r < n && m[c * n + c] != 0; ++r) {
        const double factor = m[r * n + c] / m[c * n + c];
        for (int64_t i = c; i < n; ++i) m[r * n + i] -= factor * m[c * n + i];
      }
    }
    out.out()[b] = det;
  }
  run.set(0, store(out.tensor(), run.type(0)));
}

constexpr Operator kOperators[] = {
    {"Det", det_op},
    {"Einsum", einsum_op, "equation"},
    {"Gemm", gemm_op, "alpha beta transA transB broadcast"},
    {"MatMul", matmul_op, "activation"},
};

}  // namespace

Operators matmul_operators() { return kOperators; }

}  // namespace wick::graph
