#include <cmath>

#include "base/philox.h"
#include "graph/executor.h"
#include "graph/numbers.h"
#include "graph/operators.h"
#include "ops/binary.h"
#include "ops/compare.h"

namespace wick::graph {
namespace {

// The seed that a node names, else one of the run and of how often numbers were drawn in it.
uint64_t seed_of(OpRun& run) {
  RunState& state = run.frame().state();
  const auto* given = run.node().find("seed");
  if (given && given->f) return static_cast<uint64_t>(static_cast<int64_t>(*given->f * 4096.0f));
  if (given && given->i) return static_cast<uint64_t>(*given->i);
  const auto words = philox_block(state.options.seed, state.drawn++, 0x6F6E6E78);
  return uint64_t{words[0]} << 32 | words[1];
}

ElementType type_of_output(OpRun& run, ElementType otherwise) {
  const ElementType type = run.has("dtype") ? element_type(run.needed("dtype")) : otherwise;
  if (type == ElementType::kNone) throw not_offered("dtype is none that Wick has");
  return type;
}

void draw(OpRun& run, const Shape& shape, ElementType type, bool normal) {
  if (!is_float(type)) throw Error(ErrorCode::kDType, cat("dtype is ", type, ", expected floats"));
  const double a = normal ? run.get("mean", 0.0f) : run.get("low", 0.0f),
               b = normal ? run.get("scale", 1.0f) : run.get("high", 1.0f);
  const Tensor numbers = normal ? randn(shape, seed_of(run)) : rand(shape, seed_of(run));
  run.set(0, store(add(mul(numbers, normal ? b : b - a), a), type));
}

template <bool kNormal>
void random_op(OpRun& run) {
  draw(run, shape_of(run.ints("shape")), type_of_output(run, ElementType::kF32), kNormal);
}
template <bool kNormal>
void random_like_op(OpRun& run) {
  draw(run, run.tensor(0).shape(), type_of_output(run, run.type(0)), kNormal);
}

void bernoulli_op(OpRun& run) {
  const Tensor& x = run.tensor(0);
  const Tensor hits = lt(rand(x.shape(), seed_of(run), DType::kF64), x.to_dtype(DType::kF64));
  const ElementType type = type_of_output(run, run.type(0));
  run.set(0, store(hits.to_dtype(is_float(type) ? DType::kF32 : DType::kI64), type));
}

void multinomial_op(OpRun& run) {
  const Doubles logits(run.tensor(0));
  if (logits.shape().rank() != 2) throw Error(ErrorCode::kShape, cat("the input is ", logits.shape()));
  const int64_t rows = logits.shape()[0], classes = logits.shape()[1], count = run.get("sample_size", int64_t{1});
  if (classes < 1 || count < 0) throw bad_input(cat(count, " samples of ", classes, " classes"));
  const Doubles draws(rand({rows, count}, seed_of(run), DType::kF64));
  Longs out(Shape{rows, count});
  for (int64_t i = 0; i < rows * count; ++i) {
    const double* row = logits.data() + i / count * classes;
    double total = 0;
    for (int64_t c = 0; c < classes; ++c) total += std::exp(row[c]);
    double left = draws[i] * total;
    int64_t chosen = 0;
    while (chosen + 1 < classes && left >= std::exp(row[chosen])) left -= std::exp(row[chosen++]);
    out.out()[i] = chosen;
  }
  run.set(0, store(out.tensor(), type_of_output(run, ElementType::kI32)));
}

void dropout_op(OpRun& run) {
  const Tensor& x = run.tensor(0);
  const bool training = run.has(2) && run.number_at(2) != 0;
  const double ratio = run.has(1) ? run.number_at(1) : run.get("ratio", 0.5f);
  const auto mask_type = run.opset() < 10 ? run.type(0) : ElementType::kBool;
  if (!training || ratio == 0) {
    run.set(0, run.in(0));
    return run.set(1, store(ones(x.shape(), DType::kI64), mask_type));
  }
  if (!(ratio > 0 && ratio < 1)) throw bad_input(cat("the ratio is ", ratio));
  const Tensor kept = ge(rand(x.shape(), seed_of(run)), ratio);
  run.set(0, store(mul(mul(x, kept.to_dtype(x.dtype())), 1 / (1 - ratio)), run.type(0)));
  run.set(1, kept, ElementType::kBool);
}

constexpr Operator kOperators[] = {
    {"Bernoulli", bernoulli_op, "dtype seed", true},
    {"Dropout", dropout_op, "seed ratio is_test consumed_inputs", true},
    {"Multinomial", multinomial_op, "dtype sample_size seed", true},
    {"RandomNormal", random_op<true>, "dtype mean scale seed shape", true},
    {"RandomNormalLike", random_like_op<true>, "dtype mean scale seed", true},
    {"RandomUniform", random_op<false>, "dtype high low seed shape", true},
    {"RandomUniformLike", random_like_op<false>, "dtype high low seed", true},
};

}  // namespace

Operators random_operators() { return kOperators; }

}  // namespace wick::graph
