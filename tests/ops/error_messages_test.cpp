// Every op answers bad input with the right code and a sentence that names the op and the facts.
#include <gtest/gtest.h>

#include <functional>

#include "ops/ops.h"
#include "support/devices.h"
#include "support/errors.h"
#include "tensor/create.h"

namespace wick {
namespace {

using Unary = Tensor (*)(const Tensor&);
using Binary = Tensor (*)(const Tensor&, const Tensor&);
using Reduction = Tensor (*)(const Tensor&, std::span<const int64_t>, bool);

struct NamedUnary {
  const char* name;
  Unary op;
};
struct NamedBinary {
  const char* name;
  Binary op;
};

// Floats only.
const NamedUnary kFloatOps[] = {{"exp", exp},     {"log", log},         {"sqrt", sqrt},
                                {"recip", recip}, {"gelu", gelu},       {"gelu_tanh", gelu_tanh},
                                {"silu", silu},   {"sigmoid", sigmoid}, {"softplus", softplus},
                                {"tanh", tanh},   {"sin", sin},         {"cos", cos},
                                {"erf", erf}};
// Integers too.
const NamedUnary kAnyOps[] = {{"neg", neg},     {"abs", abs},   {"sqr", sqr},    {"relu", relu},
                              {"floor", floor}, {"ceil", ceil}, {"round", round}};
const NamedBinary kBinaryOps[] = {{"add", add}, {"sub", sub}, {"mul", mul}, {"div", div},         {"pow", pow},
                                  {"eq", eq},   {"ne", ne},   {"lt", lt},   {"maximum", maximum}, {"minimum", minimum},
                                  {"le", le},   {"gt", gt},   {"ge", ge}};

struct Case {
  std::function<void()> run;
  ErrorCode code;
  std::string message;  // the whole of it, or a part
};

void expect_all(const std::vector<Case>& cases) {
  for (const Case& each : cases) expect_error(each.run, each.code, each.message);
}

class ErrorMessages : public OnEveryDevice {
 protected:
  Tensor f32(const Shape& shape) const { return ones(shape, DType::kF32, device()); }
  Tensor i64(const Shape& shape, double value = 0) const { return full(shape, value, DType::kI64, device()); }

  static constexpr auto kShape = ErrorCode::kShape, kDType = ErrorCode::kDType, kBad = ErrorCode::kInvalidArgument;
};

TEST_P(ErrorMessages, ElementWise) {
  std::vector<Case> cases;
  for (const auto& [name, op] : kFloatOps) {
    const auto run = op;
    cases.push_back({[=, this] { run(i64({2})); }, kDType,
                     cat(name, ": dtype i64 is not a floating type; convert with to_dtype first")});
    cases.push_back({[=] { run(Tensor()); }, kBad, cat(name, ": an input tensor is empty (never assigned)")});
  }
  for (const auto& [name, op] : kAnyOps) {
    const auto run = op;
    cases.push_back({[=] { run(Tensor()); }, kBad, cat(name, ": an input tensor is empty (never assigned)")});
  }
  for (const auto& [name, op] : kBinaryOps) {
    const auto run = op;
    cases.push_back({[=, this] {
                       run(f32({2, 3}), f32({4}));
                     },
                     kShape, cat(name, ": [2, 3] and [4]: sizes 3 and 4 in dimension 1 do not broadcast")});
    cases.push_back({[=, this] { run(f32({2}), Tensor()); }, kBad, cat(name, ": an input tensor is empty")});
    cases.push_back({[=, this] { run(Tensor(), f32({2})); }, kBad, cat(name, ": an input tensor is empty")});
  }
  expect_all(cases);
  expect_all({
      {[&] { pow(i64({2}, 3), i64({2}, -1)); }, kBad,
       "pow: integers to the negative power -1; convert to a float first"},
      {[&] { clamp(f32({2}), 2, 1); }, kBad, "clamp: low 2 is not below high 1"},
      {[&] { clamp(Tensor(), 0, 1); }, kBad, "clamp: an input tensor is empty"},
      {[&] { where(f32({2}), f32({3}), f32({3})); }, kShape,
       "where: [2] and [3]: sizes 2 and 3 in dimension 0 do not broadcast"},
      {[&] { where(f32({2}), f32({2}), f32({5})); }, kShape, "where: [2] and [5]: sizes 2 and 5 in dimension 0"},
      {[&] { where(Tensor(), f32({2}), f32({2})); }, kBad, "where: an input tensor is empty"},
  });
}

TEST_P(ErrorMessages, Reductions) {
  const std::pair<const char*, Reduction> reductions[] = {{"sum", sum}, {"mean", mean}, {"max", max}, {"min", min}};
  for (const auto& [name, op] : reductions) {
    const std::vector<int64_t> far = {2}, twice = {1, -1};
    expect_error(
        [&, run = op] {
          run(f32({2, 3}), far, false);
        },
        kBad, cat(name, ": dimension 2 of a tensor of rank 2"));
    expect_error([&, run = op] { run(f32({2, 3}), twice, false); }, kBad, cat(name, ": dimension 1 is given twice"));
    expect_error([run = op] { run(Tensor(), {}, false); }, kBad, cat(name, ": an input tensor is empty"));
    if (op != static_cast<Reduction>(sum)) {
      expect_error(
          [&, run = op] {
            run(f32({2, 0}), {}, false);
          },
          kShape, cat(name, ": [2, 0] has no elements to reduce"));
    }
  }
  expect_all({
      {[&] { var(f32({3}), {0}, 3); }, kBad, "var: 3 elements of [3] with correction 3"},
      {[&] { var(f32({3}), {1}); }, kBad, "var: dimension 1 of a tensor of rank 1"},
      {[&] { var(i64({3}), {0}); }, kDType, "var: dtype i64 is not a floating type"},
      {[&] {
         argmax(f32({2, 3}), 2);
       },
       kBad, "argmax: dimension 2 of a tensor of rank 2"},
      {[&] {
         argmax(f32({2, 0}), 1);
       },
       kShape, "argmax: dimension 1 of [2, 0] has no elements"},
      {[&] { argmax(Tensor(), 1); }, kBad, "argmax: an input tensor is empty"},
      {[&] { argmax(Tensor()); }, kBad, "argmax: an input tensor is empty"},
      {[&] {
         argmin(f32({2, 3}), -3);
       },
       kBad, "argmin: dimension -3 of a tensor of rank 2"},
      {[&] { argmin(f32({0}), 0); }, kShape, "argmin: dimension 0 of [0] has no elements"},
      {[&] { argmin(Tensor()); }, kBad, "argmin: an input tensor is empty"},
      {[&] { cumsum(f32({2}), 1); }, kBad, "cumsum: dimension 1 of a tensor of rank 1"},
      {[&] { cumsum(Tensor(), 0); }, kBad, "cumsum: an input tensor is empty"},
      {[&] { sort(f32({2}), 1); }, kBad, "sort: dimension 1 of a tensor of rank 1"},
      {[&] { sort(Tensor(), 0); }, kBad, "sort: an input tensor is empty"},
      {[&] {
         topk(f32({2, 3}), 4, 1);
       },
       kBad, "topk: k is 4 but dimension 1 of [2, 3] has size 3"},
      {[&] {
         topk(f32({2, 3}), -1, 1);
       },
       kBad, "topk: k is -1 but dimension 1 of [2, 3] has size 3"},
      {[&] {
         topk(f32({2, 3}), 1, 2);
       },
       kBad, "topk: dimension 2 of a tensor of rank 2"},
      {[&] { topk(Tensor(), 1, 0); }, kBad, "topk: an input tensor is empty"},
  });
}

TEST_P(ErrorMessages, MatrixAndAttention) {
  const auto attend = [](const Tensor& q, const Tensor& k, const Tensor& v) {
    return [=] { scaled_dot_product_attention(q, k, v); };
  };
  const Tensor q = f32({1, 4, 3, 8});
  AttentionOptions masked;
  masked.mask = f32({5, 5});
  expect_all({
      {[&] {
         matmul(f32({2, 3}), f32({4, 5}));
       },
       kShape, "matmul: [2, 3] x [4, 5]: inner dimensions 3 and 4 differ"},
      {[&] {
         matmul(f32({3}), f32({3, 5}));
       },
       kShape, "matmul: [3] x [3, 5]: both need at least two dimensions"},
      {[&] {
         matmul(f32({2, 3, 4}), f32({5, 4, 3}));
       },
       kShape, "matmul: [2] and [5]: sizes 2 and 5 in dimension 0"},
      {[&] {
         matmul(i64({2, 2}), f32({2, 2}));
       },
       kDType, "matmul: dtype i64 is not a floating type"},
      {[&] {
         matmul(f32({2, 2}), Tensor());
       },
       kBad, "matmul: an input tensor is empty"},

      {attend(f32({4, 3, 8}), q, q), kShape,
       "scaled_dot_product_attention: query has shape [4, 3, 8], expected rank 4"},
      {attend(q, f32({2, 4, 3, 8}), f32({2, 4, 3, 8})), kShape,
       "query [1, 4, 3, 8], key [2, 4, 3, 8], value [2, 4, 3, 8]: batch sizes differ"},
      {attend(q, f32({1, 4, 3, 6}), q), kShape, "head sizes of query and key differ"},
      {attend(q, q, f32({1, 4, 5, 8})), kShape, "key and value differ in heads or length"},
      {attend(q, f32({1, 3, 5, 8}), f32({1, 3, 5, 8})), kShape, "query heads are not a multiple of key heads"},
      {attend(q, q.to_dtype(DType::kF16), q), kDType, "scaled_dot_product_attention: query is f32, key f16, value f32"},
      {attend(i64({1, 1, 1, 1}), q, q), kDType, "scaled_dot_product_attention: dtype i64"},
      {attend(q, q, Tensor()), kBad, "scaled_dot_product_attention: an input tensor is empty"},
      {[&] { scaled_dot_product_attention(q, q, q, masked); }, kShape,
       "scaled_dot_product_attention: [5, 5] cannot be broadcast to [1, 4, 3, 3]"},
  });
}

TEST_P(ErrorMessages, NormsSoftmaxAndLosses) {
  const Tensor x = f32({2, 6}), angles = f32({2, 3});
  expect_all({
      {[&] { layer_norm(x, f32({5}), Tensor()); }, kShape, "layer_norm: weight [5] for the last dimension of [2, 6]"},
      {[&] {
         layer_norm(x, Tensor(), f32({6, 1}));
       },
       kShape, "layer_norm: bias [6, 1] for the last dimension of [2, 6]"},
      {[&] { layer_norm(f32({}), Tensor(), Tensor()); }, kShape, "layer_norm: a scalar has no last dimension"},
      {[&] { layer_norm(i64({2}), Tensor(), Tensor()); }, kDType, "layer_norm: dtype i64"},
      {[&] { layer_norm(x, i64({6}), Tensor()); }, kDType, "layer_norm: dtype i64"},
      {[&] { rms_norm(x, f32({5})); }, kShape, "rms_norm: weight [5] for the last dimension of [2, 6]"},
      {[&] { rms_norm(f32({}), Tensor()); }, kShape, "rms_norm: a scalar has no last dimension"},
      {[&] { rms_norm(Tensor(), Tensor()); }, kBad, "rms_norm: an input tensor is empty"},
      {[&] { group_norm(x, 4, Tensor(), Tensor()); }, kBad, "group_norm: 6 channels do not divide into 4 groups"},
      {[&] { group_norm(x, 0, Tensor(), Tensor()); }, kBad, "group_norm: 6 channels do not divide into 0 groups"},
      {[&] { group_norm(f32({6}), 2, Tensor(), Tensor()); }, kShape, "group_norm: [6] has no channel dimension"},
      {[&] { group_norm(x, 2, f32({4}), Tensor()); }, kShape, "group_norm: weight or bias [4] for 6 channels"},
      {[&] {
         group_norm(i64({2, 6}), 2, Tensor(), Tensor());
       },
       kDType, "group_norm: dtype i64"},
      {[&] { group_norm(x, 2, i64({6}), Tensor()); }, kDType, "group_norm: dtype i64"},
      {[&] { softmax(x, 2); }, kBad, "softmax: dimension 2 of a tensor of rank 2"},
      {[&] { softmax(i64({2}), 0); }, kDType, "softmax: dtype i64"},
      {[&] { log_softmax(x, -3); }, kBad, "log_softmax: dimension -3 of a tensor of rank 2"},
      {[&] { log_softmax(i64({2}), 0); }, kDType, "log_softmax: dtype i64"},
      {[&] {
         rope(x, f32({2, 4}), f32({2, 4}));
       },
       kShape, "rope: x [2, 6] with cos [2, 4] and sin [2, 4], expected"},
      {[&] {
         rope(f32({3, 6}), angles, angles);
       },
       kShape, "rope: x [3, 6] with cos [2, 3] and sin [2, 3], expected"},
      {[&] {
         rope(x, angles, f32({2, 2}));
       },
       kShape, "rope: x [2, 6] with cos [2, 3] and sin [2, 2], expected"},
      {[&] { rope(x, f32({3}), angles); }, kShape, "rope: cos has shape [3], expected rank 2"},
      {[&] { rope(x, angles.to_dtype(DType::kF64), angles); }, kDType, "rope: cos is f64 and sin f32, expected f32"},
      {[&] { cross_entropy(x, i64({3})); }, kShape, "cross_entropy: logits [2, 6] for targets [3]"},
      {[&] { cross_entropy(x, i64({2}, 6)); }, kBad,
       "cross_entropy: index 6 is out of range for a dimension of size 6"},
      {[&] { cross_entropy(x, i64({2}, -100)); }, kBad, "cross_entropy: no row has a target"},
      {[&] { cross_entropy(x, f32({2})); }, kDType, "cross_entropy: targets have dtype f32, expected an integer type"},
      {[&] { cross_entropy(f32({6}), i64({1})); }, kShape, "cross_entropy: logits has shape [6], expected rank 2"},
      {[&] { cross_entropy(x, Tensor()); }, kBad, "cross_entropy: an input tensor is empty"},
      {[&] {
         embedding(i64({2}, 9), f32({9, 4}));
       },
       kBad, "embedding: index 9 is out of range for a dimension of size 9"},
      {[&] {
         embedding(i64({2}, -1), f32({9, 4}));
       },
       kBad, "embedding: index -1 is out of range"},
      {[&] {
         embedding(f32({2}), f32({9, 4}));
       },
       kDType, "embedding: indices have dtype f32, expected an integer type"},
      {[&] { embedding(i64({2}), f32({9})); }, kShape, "embedding: weight has shape [9], expected rank 2"},
  });
}

TEST_P(ErrorMessages, Shapes) {
  const Tensor x = f32({2, 3});
  const std::vector<int64_t> twice = {0, 0};
  expect_all({
      {[&] {
         reshape(x, Shape{4, 2});
       },
       kShape, "reshape: [2, 3] has 6 elements, [4, 2] has 8"},
      {[&] {
         reshape(x, {-1, -1});
       },
       kBad, "reshape: only one size may be -1"},
      {[&] {
         reshape(x, {-1, 4});
       },
       kShape, "reshape: 6 elements of [2, 3] do not divide by the other sizes, 4"},
      {[&] {
         reshape(x, {-2, 3});
       },
       kBad, "reshape: the size -2 is negative"},
      {[&] { reshape(Tensor(), Shape{1}); }, kBad, "reshape: an input tensor is empty"},
      {[&] { flatten(x, 1, 0); }, kBad, "flatten: from dimension 1 to 0"},
      {[&] { flatten(x, 2); }, kBad, "flatten: dimension 2 of a tensor of rank 2"},
      {[&] { squeeze(x, 1); }, kShape, "squeeze: dimension 1 of [2, 3] has size 3, not 1"},
      {[&] { squeeze(x, 2); }, kBad, "squeeze: dimension 2 of a tensor of rank 2"},
      {[&] { unsqueeze(x, 3); }, kBad, "unsqueeze: dimension 3 of a tensor of rank 3"},
      {[&] {
         unsqueeze(f32({1, 1, 1, 1, 1, 1, 1, 1}), 0);
       },
       kShape, "unsqueeze: [1, 1, 1, 1, 1, 1, 1, 1] already has the highest rank, 8"},
      {[&] { narrow(x, 1, 2, 2); }, kBad, "narrow: 2 elements from 2 of dimension 1 of [2, 3]"},
      {[&] { narrow(x, 1, -1, 2); }, kBad, "narrow: 2 elements from -1 of dimension 1 of [2, 3]"},
      {[&] { narrow(x, 1, 1, INT64_MAX); }, kBad, "elements from 1 of dimension 1 of [2, 3]"},
      {[&] { narrow(x, 2, 0, 1); }, kBad, "narrow: dimension 2 of a tensor of rank 2"},
      {[&] { chunk(x, 0, 0); }, kBad, "chunk: 0 chunks asked for, expected 1 or more"},
      {[&] { chunk(x, 2, 5); }, kBad, "chunk: dimension 5 of a tensor of rank 2"},
      {[&] { concat({}, 0); }, kBad, "concat: no tensors given"},
      {[&] {
         concat({x, f32({2, 3, 1})}, 0);
       },
       kShape, "concat: [2, 3, 1] beside [2, 3]: only dimension 0 may differ"},
      {[&] {
         concat({x, f32({3, 3})}, 1);
       },
       kShape, "concat: [3, 3] beside [2, 3]: only dimension 1 may differ"},
      {[&] {
         concat({x, Tensor()}, 1);
       },
       kBad, "concat: an input tensor is empty"},
      {[&] {
         concat({x, x}, 2);
       },
       kBad, "concat: dimension 2 of a tensor of rank 2"},
      {[&] { stack({}, 0); }, kBad, "stack: no tensors given"},
      {[&] {
         stack({x, f32({3, 2})}, 0);
       },
       kShape, "stack: [3, 2] beside [2, 3]"},
      {[&] {
         stack({x, x}, 3);
       },
       kBad, "stack: dimension 3 of a tensor of rank 3"},
      {[&] {
         permute(x, {0, 0});
       },
       kBad, "permute: dimension 0 is given twice"},
      {[&] { permute(x, {0}); }, kBad, "permute: 1 dimensions for a tensor of rank 2"},
      {[&] {
         permute(x, {0, 2});
       },
       kBad, "permute: dimension 2 of a tensor of rank 2"},
      {[&] { transpose(x, 0, 2); }, kBad, "transpose: dimension 2 of a tensor of rank 2"},
      {[&] {
         broadcast_as(x, {2, 4});
       },
       kShape, "broadcast_as: [2, 3] cannot be broadcast to [2, 4]"},
      {[&] { broadcast_as(x, {3}); }, kShape, "broadcast_as: [2, 3] cannot be broadcast to [3]"},
      {[&] { flip(x, twice); }, kBad, "flip: dimension 0 is given twice"},
      {[&] { flip(x, {2}); }, kBad, "flip: dimension 2 of a tensor of rank 2"},
      {[&] { tril(f32({3})); }, kShape, "tril: [3] has fewer than two dimensions"},
      {[&] { triu(f32({3})); }, kShape, "triu: [3] has fewer than two dimensions"},
      {[&] { pad(x, 1, -1, 0); }, kBad, "pad: -1 before and 0 after dimension 1"},
      {[&] { pad(x, 1, INT64_MAX, 1); }, kBad, "1 after dimension 1"},
      {[&] { pad(x, 1, 3, 0, PadMode::kReflect); }, kBad,
       "pad: 3 before and 0 after need more than the 3 elements of dimension 1 to reflect"},
      {[&] { pad(f32({0}), 0, 1, 1, PadMode::kReplicate); }, kBad, "more than the 0 elements of dimension 0"},
      {[&] { Tensor().clone(); }, kBad, "clone: an input tensor is empty"},
      {[&] { Tensor().contiguous(); }, kBad, "contiguous: an input tensor is empty"},
      {[&] { Tensor().to_dtype(DType::kF32); }, kBad, "to_dtype: an input tensor is empty"},
      {[&] { Tensor().to_device(device()); }, kBad, "to_device: an input tensor is empty"},
      {[&] { x.item(); }, kShape, "item: expected a tensor of one element, got [2, 3]"},
  });
}

TEST_P(ErrorMessages, Indexing) {
  const Tensor x = f32({2, 3});
  expect_all({
      {[&] {
         gather(x, 1, i64({2, 1}, 3));
       },
       kBad, "gather: index 3 is out of range for a dimension of size 3"},
      {[&] {
         gather(x, 1, i64({3, 1}));
       },
       kShape, "gather: index [3, 1] does not fit [2, 3] (only dimension 1 may be larger)"},
      {[&] { gather(x, 1, i64({2})); }, kShape, "gather: index [2] does not fit [2, 3]"},
      {[&] {
         gather(x, 1, f32({2, 1}));
       },
       kDType, "gather: indices have dtype f32, expected an integer type"},
      {[&] {
         gather(x, 2, i64({2, 1}));
       },
       kBad, "gather: dimension 2 of a tensor of rank 2"},
      {[&] { gather(x, 1, Tensor()); }, kBad, "gather: an input tensor is empty"},
      {[&] {
         scatter(x, 1, i64({2, 1}), f32({2, 2}));
       },
       kShape, "scatter: source [2, 2] for an index of shape [2, 1]"},
      {[&] {
         scatter(x, 1, i64({2, 1}, -1), f32({2, 1}));
       },
       kBad, "scatter: index -1 is out of range"},
      {[&] {
         scatter(x, 1, Tensor(), f32({2, 1}));
       },
       kBad, "scatter: an input tensor is empty"},
      {[&] {
         scatter_add(x, 1, i64({2, 1}), f32({2, 2}));
       },
       kShape, "scatter_add: source [2, 2] for an index of shape [2, 1]"},
      {[&] {
         scatter_add(x, 0, i64({2, 3}, 2), x);
       },
       kBad, "scatter_add: index 2 is out of range for a dimension of size 2"},
      {[&] { index_select(x, 0, i64({4}, 2)); }, kBad,
       "index_select: index 2 is out of range for a dimension of size 2"},
      {[&] {
         index_select(x, 0, i64({2, 2}));
       },
       kShape, "index_select: index has shape [2, 2], expected rank 1"},
      {[&] { index_select(x, 0, f32({2})); }, kDType, "index_select: indices have dtype f32"},
      {[&] { index_select(x, 3, i64({2})); }, kBad, "index_select: dimension 3 of a tensor of rank 2"},
      {[&] {
         index_add(x, 0, i64({2}), f32({3, 3}));
       },
       kShape, "index_add: source [3, 3] for 2 slices of [2, 3]"},
      {[&] {
         index_add(x, 0, i64({1}, 5), f32({1, 3}));
       },
       kBad, "index_add: index 5 is out of range"},
      {[&] {
         index_add(x, 0, i64({1, 1}), f32({1, 3}));
       },
       kShape, "index_add: index has shape [1, 1], expected rank 1"},
  });
}

WICK_ON_EVERY_DEVICE(ErrorMessages);

// Every op that takes two tensors, called with one on the CPU and one on the reference device, names both and itself.
TEST(TwoDevices, AreNamedByEveryOp) {
  const Device other = Device::reference();
  const Tensor a = ones({2, 2}), b = ones({2, 2}, DType::kF32, other);
  const Tensor row = ones({2}, DType::kF32, other), index = zeros({2, 2}, DType::kI64, other);
  const Tensor places = zeros({2}, DType::kI64, other), here = zeros({2, 2}, DType::kI64);
  const Tensor q = ones({1, 1, 2, 2}), k = ones({1, 1, 2, 2}, DType::kF32, other);
  AttentionOptions masked;
  masked.mask = b;
  std::vector<std::pair<std::string, std::function<void()>>> calls = {
      {"where", [&] { where(a, a, b); }},
      {"where", [&] { where(b, a, a); }},
      {"matmul", [&] { matmul(a, b); }},
      {"scaled_dot_product_attention", [&] { scaled_dot_product_attention(q, k, q); }},
      {"scaled_dot_product_attention", [&] { scaled_dot_product_attention(q, q, k); }},
      {"scaled_dot_product_attention", [&] { scaled_dot_product_attention(q, q, q, masked); }},
      {"layer_norm", [&] { layer_norm(a, row, Tensor()); }},
      {"layer_norm", [&] { layer_norm(a, Tensor(), row); }},
      {"rms_norm", [&] { rms_norm(a, row); }},
      {"group_norm", [&] { group_norm(a, 2, row, Tensor()); }},
      {"group_norm", [&] { group_norm(a, 2, Tensor(), row); }},
      {"rope",
       [&] {
         rope(a, ones({2, 1}, DType::kF32, other), ones({2, 1}));
       }},
      {"cross_entropy", [&] { cross_entropy(a, places); }},
      {"embedding", [&] { embedding(index, a); }},
      {"concat",
       [&] {
         concat({a, b}, 0);
       }},
      {"stack",
       [&] {
         stack({a, b}, 0);
       }},
      {"gather", [&] { gather(a, 0, index); }},
      {"scatter", [&] { scatter(a, 0, index, a); }},
      {"scatter", [&] { scatter(a, 0, here, b); }},
      {"scatter_add", [&] { scatter_add(a, 0, index, a); }},
      {"scatter_add", [&] { scatter_add(a, 0, here, b); }},
      {"index_select", [&] { index_select(a, 0, places); }},
      {"index_add", [&] { index_add(a, 0, places, a); }},
      {"index_add", [&] { index_add(a, 0, zeros({2}, DType::kI64), b); }},
      {"Var::set", [&] { Var(a).set(b); }},
  };
  for (const auto& [name, op] : kBinaryOps) calls.emplace_back(name, [&, run = op] { run(a, b); });
  for (const auto& [name, run] : calls) {
    try {
      run();
      ADD_FAILURE() << name << " took two devices";
    } catch (const Error& error) {
      const std::string message = error.what();
      EXPECT_EQ(to_string(error.code()), to_string(ErrorCode::kDevice)) << message;
      EXPECT_EQ(message.rfind(name + ": one tensor is on ", 0), 0u) << message;
      EXPECT_NE(message.find("cpu"), std::string::npos) << message;
      EXPECT_NE(message.find("reference"), std::string::npos) << message;
    }
  }
}

}  // namespace
}  // namespace wick
