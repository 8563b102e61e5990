#include "nn/linear.h"

#include "base/inline_vector.h"
#include "ops/binary.h"
#include "ops/index.h"
#include "ops/layers/matmul.h"
#include "ops/view.h"

namespace wick {
namespace {

constexpr size_t kMostLinears = 3;

}  // namespace

Tensor Linear::operator()(const Tensor& x) const {
  if (x.rank() == 2) return (*this)(LinearInput{x}, {});
  const Tensor& ordered = input_order.defined() ? index_select(x, -1, input_order) : x;
  const Tensor y = matmul(ordered, transpose(weight, 0, 1));
  return bias.defined() ? add(y, bias) : y;
}

Tensor Linear::operator()(const LinearInput& input, const Tensor& residual) const {
  LinearJob job{weight, bias, residual};
  linear(input_order.defined() ? LinearInput{index_select(materialize(input), -1, input_order)} : input, {&job, 1});
  return has_adapters() ? adapters->add_to(job.out, materialize(input), *this) : job.out;
}

std::array<Tensor, 3> apply_linears(const LinearInput& input, std::initializer_list<const Linear*> linears) {
  std::array<Tensor, kMostLinears> outs;
  std::array<LinearJob, kMostLinears> jobs;
  size_t count = 0;
  bool all_plain = true;
  for (const Linear* each : linears) {
    jobs[count++] = {each->weight, each->bias};
    all_plain &= each->is_plain();
  }
  if (all_plain) {
    linear(input, std::span(jobs).first(count));
    for (size_t i = 0; i < count; ++i) outs[i] = jobs[i].out;
    return outs;
  }
  const LinearInput ready{materialize(input)};
  size_t next = 0;
  for (const Linear* each : linears) outs[next++] = (*each)(ready, {});
  return outs;
}

}  // namespace wick
