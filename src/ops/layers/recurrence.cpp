#include "ops/layers/recurrence.h"

#include <utility>

#include "ops/check.h"

namespace wick {
namespace {

void check_matrix(const char* op, const char* what, const Tensor& x, int64_t rows, int64_t columns) {
  if (x.dtype() != DType::kF32)
    throw Error(ErrorCode::kDType, cat(op, ": ", what, " is ", x.dtype(), ", expected f32"));
  if (x.rank() != 2 || x.dim(0) != rows || x.dim(1) != columns) {
    throw Error(ErrorCode::kShape,
                cat(op, ": ", what, " has shape ", x.shape(), ", expected [", rows, ", ", columns, "]"));
  }
}

void check_vector(const char* op, const char* what, const Tensor& x, int64_t size) {
  if (x.dtype() != DType::kF32 || x.rank() != 1 || x.dim(0) != size) {
    throw Error(ErrorCode::kShape,
                cat(op, ": ", what, " is ", x.dtype(), " ", x.shape(), ", expected f32 [", size, "]"));
  }
}

// Sequences cover `rows` in order, each with a state of this shape on the device.
void check_sequences(const char* op, const Tensor& x, std::span<const StateRows> sequences, const Shape& state) {
  int64_t end = 0;
  for (const StateRows& of : sequences) {
    if (of.begin != end || of.count < 0) {
      throw Error(ErrorCode::kInvalidArgument, cat(op, ": a sequence has rows ", of.begin, " to ", of.begin + of.count,
                                                   ", expected from ", end, " on"));
    }
    end += of.count;
    if (of.state.dtype() != DType::kF32 || of.state.shape() != state || !of.state.is_contiguous()) {
      throw Error(ErrorCode::kShape, cat(op, ": a state is ", of.state.dtype(), " ", of.state.shape(),
                                         ", expected f32 ", state, ", row-major"));
    }
    check_same_device(op, {&x, &of.state});
  }
  if (end != x.dim(0)) {
    throw Error(ErrorCode::kInvalidArgument, cat(op, ": sequences have ", end, " rows, x has ", x.dim(0)));
  }
}

Tensor dense_rows(const Tensor& x) {
  return x.dim(1) <= 1 || x.strides()[1] == 1 ? x.detach() : x.detach().contiguous();
}
Tensor dense(const Tensor& x) { return x.defined() ? x.detach().contiguous() : x; }

}  // namespace

Tensor causal_conv(const Tensor& x, const Tensor& weight, const Tensor& bias, std::span<const StateRows> sequences) {
  constexpr const char* kName = "causal_conv";
  check_rank(kName, "x", x, 2);
  check_rank(kName, "weight", weight, 2);
  const int64_t rows = x.dim(0), channels = x.dim(1), taps = weight.dim(0);
  check_matrix(kName, "x", x, rows, channels);
  check_matrix(kName, "weight", weight, taps, channels);
  if (bias.defined()) check_vector(kName, "bias", bias, channels);
  check_same_device(kName, {&x, &weight, &bias});
  check_sequences(kName, x, sequences, {taps - 1, channels});
  const auto kernel = find_kernel(kName, x.device(), &KernelTable::causal_conv);
  Tensor out = empty({rows, channels}, DType::kF32, x.device());
  if (out.numel() > 0) kernel(dense_rows(x), dense(weight), dense(bias), sequences, out);
  return out;
}

Tensor mamba_scan(const Tensor& u, const Tensor& dt, const Tensor& b, const Tensor& c, const Tensor& a, const Tensor& d,
                  std::span<const StateRows> sequences) {
  constexpr const char* kName = "mamba_scan";
  check_rank(kName, "u", u, 2);
  check_rank(kName, "a", a, 2);
  const int64_t rows = u.dim(0), inner = u.dim(1), states = a.dim(0);
  for (const auto& [what, x] : {std::pair{"u", &u}, std::pair{"dt", &dt}}) check_matrix(kName, what, *x, rows, inner);
  for (const auto& [what, x] : {std::pair{"b", &b}, std::pair{"c", &c}}) check_matrix(kName, what, *x, rows, states);
  check_matrix(kName, "a", a, states, inner);
  check_vector(kName, "d", d, inner);
  check_same_device(kName, {&u, &dt, &b, &c, &a, &d});
  check_sequences(kName, u, sequences, {states, inner});
  const auto kernel = find_kernel(kName, u.device(), &KernelTable::mamba_scan);
  Tensor out = empty({rows, inner}, DType::kF32, u.device());
  if (out.numel() > 0) {
    kernel(dense_rows(u), dense_rows(dt), dense_rows(b), dense_rows(c), dense(a), dense(d), sequences, out);
  }
  return out;
}

Tensor mamba2_scan(const Tensor& x, const Tensor& dt, const Tensor& b, const Tensor& c, const Tensor& a,
                   const Tensor& d, std::span<const StateRows> sequences) {
  constexpr const char* kName = "mamba2_scan";
  check_rank(kName, "x", x, 2);
  check_rank(kName, "b", b, 2);
  const bool by_row = a.rank() == 2;
  check_rank(kName, "a", a, by_row ? 2 : 1);
  const int64_t rows = x.dim(0), inner = x.dim(1), heads = a.dim(by_row ? 1 : 0), shared = b.dim(1);
  if (sequences.empty() || heads == 0) return empty({rows, inner}, DType::kF32, x.device());
  const Tensor& first = sequences.front().state;
  const int64_t states = first.rank() == 3 ? first.dim(1) : 0;
  if (states == 0 || shared % states != 0 || shared == 0 || heads % (shared / states) != 0 || inner % heads != 0) {
    throw Error(ErrorCode::kShape, cat(kName, ": x ", x.shape(), ", b ", b.shape(), ", a ", a.shape(), " and a state ",
                                       first.shape(), " do not fit each other"));
  }
  check_matrix(kName, "x", x, rows, inner);
  check_matrix(kName, "dt", dt, rows, heads);
  for (const auto& [what, each] : {std::pair{"b", &b}, std::pair{"c", &c}}) {
    check_matrix(kName, what, *each, rows, shared);
  }
  if (by_row) {
    check_matrix(kName, "a", a, rows, heads);
  } else {
    check_vector(kName, "a", a, heads);
  }
  if (d.defined()) check_vector(kName, "d", d, heads);
  check_same_device(kName, {&x, &dt, &b, &c, &a, &d});
  check_sequences(kName, x, sequences, {heads, states, inner / heads});
  const auto kernel = find_kernel(kName, x.device(), &KernelTable::mamba2_scan);
  Tensor out = empty({rows, inner}, DType::kF32, x.device());
  if (out.numel() > 0) {
    kernel(dense_rows(x), dense_rows(dt), dense_rows(b), dense_rows(c), dense(a), dense(d), sequences, out);
  }
  return out;
}

Tensor rwkv_scan(const Tensor& keys, const Tensor& values, const Tensor& decay, const Tensor& bonus,
                 std::span<const StateRows> sequences) {
  constexpr const char* kName = "rwkv_scan";
  check_rank(kName, "keys", keys, 2);
  const int64_t rows = keys.dim(0), inner = keys.dim(1);
  for (const auto& [what, x] : {std::pair{"keys", &keys}, std::pair{"values", &values}, std::pair{"decay", &decay}}) {
    check_matrix(kName, what, *x, rows, inner);
  }
  check_vector(kName, "bonus", bonus, inner);
  check_same_device(kName, {&keys, &values, &decay, &bonus});
  check_sequences(kName, keys, sequences, {3, inner});
  const auto kernel = find_kernel(kName, keys.device(), &KernelTable::rwkv_scan);
  Tensor out = empty({rows, inner}, DType::kF32, keys.device());
  if (out.numel() > 0) kernel(dense_rows(keys), dense_rows(values), dense_rows(decay), dense(bonus), sequences, out);
  return out;
}

Tensor delta_rule_scan(const Tensor& queries, const Tensor& keys, const Tensor& values, const Tensor& falls,
                       const Tensor& betas, std::span<const StateRows> sequences) {
  constexpr const char* kName = "delta_rule_scan";
  check_rank(kName, "queries", queries, 2);
  check_rank(kName, "values", values, 2);
  check_rank(kName, "falls", falls, 2);
  const int64_t rows = queries.dim(0), width = queries.dim(1), inner = values.dim(1), heads = falls.dim(1);
  if (sequences.empty() || heads == 0) return empty({rows, inner}, DType::kF32, queries.device());
  const Tensor& first = sequences.front().state;
  const int64_t key_dim = first.rank() == 3 ? first.dim(1) : 0;
  if (key_dim == 0 || width == 0 || width % key_dim != 0 || heads % (width / key_dim) != 0 || inner % heads != 0) {
    throw Error(ErrorCode::kShape, cat(kName, ": queries ", queries.shape(), ", values ", values.shape(), ", falls ",
                                       falls.shape(), " and a state ", first.shape(), " do not fit each other"));
  }
  for (const auto& [what, each] : {std::pair{"queries", &queries}, std::pair{"keys", &keys}}) {
    check_matrix(kName, what, *each, rows, width);
  }
  check_matrix(kName, "values", values, rows, inner);
  for (const auto& [what, each] : {std::pair{"falls", &falls}, std::pair{"betas", &betas}}) {
    check_matrix(kName, what, *each, rows, heads);
  }
  check_same_device(kName, {&queries, &keys, &values, &falls, &betas});
  check_sequences(kName, queries, sequences, {heads, key_dim, inner / heads});
  const auto kernel = find_kernel(kName, queries.device(), &KernelTable::delta_rule_scan);
  Tensor out = empty({rows, inner}, DType::kF32, queries.device());
  if (out.numel() > 0) {
    kernel(dense_rows(queries), dense_rows(keys), dense_rows(values), dense_rows(falls), dense_rows(betas), sequences,
           out);
  }
  return out;
}

}  // namespace wick
