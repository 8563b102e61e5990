#include "nn/altup.h"

#include "ops/binary.h"
#include "ops/layers/matmul.h"
#include "ops/rearrange.h"
#include "ops/reduction.h"
#include "ops/unary.h"
#include "ops/view.h"

namespace wick {
namespace {

constexpr double kLeastMeanSquare = 1e-5;

Tensor copy_of(const Tensor& stream, int64_t copy) {
  return reshape(narrow(stream, 1, copy, 1), {stream.dim(0), stream.dim(2)}).contiguous();
}

Tensor mean_square(const Tensor& x) { return mean(sqr(x), {-1}, true); }

// x as large as something of that magnitude.
Tensor as_large_as(const Tensor& x, const Tensor& magnitude) {
  return div(mul(x, magnitude), sqrt(maximum(mean_square(x), kLeastMeanSquare)));
}

}  // namespace

Tensor AltUp::active_of(const Tensor& stream) const { return copy_of(stream, active); }

Tensor AltUp::with_active(const Tensor& stream, const Tensor& copy) const {
  std::vector<Tensor> parts;
  if (active > 0) parts.push_back(narrow(stream, 1, 0, active));
  parts.push_back(unsqueeze(copy, 1));
  if (active + 1 < copies) parts.push_back(narrow(stream, 1, active + 1, copies - active - 1));
  return concat(parts, 1);
}

Tensor AltUp::modalities(const Tensor& copy) const { return tanh(router(router_norm.input_for(copy), {})); }

Tensor AltUp::predict(const Tensor& stream) const {
  const Tensor coefficients = prediction({modalities(active_of(stream))}, {});
  return add(matmul(reshape(coefficients, {stream.dim(0), copies, copies}), stream), stream);
}

Tensor AltUp::correct(const Tensor& predicted, const Tensor& output) const {
  const Tensor coefficients = add(correction({modalities(output)}, {}), 1.0);
  const Tensor news = sub(output, active_of(predicted));
  return add(mul(unsqueeze(news, 1), unsqueeze(coefficients, 2)), predicted);
}

Tensor AltUp::scaled(const Tensor& corrected) const {
  const Tensor copy = active_of(corrected);
  return scale.defined() ? mul(copy, scale) : copy;
}

Tensor AltUp::add_behind_first(const Tensor& corrected, const Tensor& addend) const {
  const Tensor first = narrow(corrected, 1, 0, 1), others = narrow(corrected, 1, 1, copies - 1);
  return concat({first, add(others, unsqueeze(addend, 1))}, 1);
}

Tensor AltUpEnds::expanded(const Tensor& x) const {
  const Tensor magnitude = sqrt(mean_square(x));
  std::vector<Tensor> all = {x};
  for (const Linear& linear : expand) all.push_back(as_large_as(linear(x), magnitude));
  return stack(all, 1);
}

Tensor AltUpEnds::joined(const Tensor& stream) const {
  const Tensor first = copy_of(stream, 0), magnitude = sqrt(mean_square(first));
  Tensor sum = first;
  for (size_t i = 0; i < join.size(); ++i) {
    sum = add(sum, as_large_as(join[i](copy_of(stream, static_cast<int64_t>(i) + 1)), magnitude));
  }
  return mul(sum, 1.0 / static_cast<double>(join.size() + 1));
}

}  // namespace wick
