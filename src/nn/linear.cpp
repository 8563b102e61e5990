#include "nn/linear.h"

#include "base/inline_vector.h"
#include "ops/add.h"
#include "ops/fused_kernels.h"
#include "ops/index_select.h"
#include "ops/matmul.h"
#include "ops/permute.h"
#include "tensor/create.h"

namespace wick {

Tensor Linear::operator()(const Tensor& x) const {
  const Tensor& ordered = input_order.defined() ? index_select(x, -1, input_order) : x;
  const Tensor y = matmul(ordered, transpose(weight, 0, 1));
  return bias.defined() ? add(y, bias) : y;
}

void apply_linears(const Tensor& x, std::initializer_list<const Linear*> linears, const Tensor& residual,
                   std::span<Tensor> outs) {
  const FusedKernels* fused = fused_kernels(x.device());
  bool together = fused && x.dtype() == DType::kF32 && x.is_contiguous();
  for (const Linear* linear : linears) together &= !linear->input_order.defined() && linear->weight.strides()[1] == 1;
  InlineVector<LinearJob, 4> jobs;
  size_t next = 0;
  for (const Linear* linear : linears) {
    if (together) {
      outs[next] = empty({x.dim(0), linear->outputs()}, DType::kF32, x.device());
      jobs.push_back({linear->weight, linear->bias, residual, outs[next]});
    } else {
      const Tensor y = (*linear)(x);
      outs[next] = residual.defined() ? add(residual, y) : y;
    }
    ++next;
  }
  if (together) fused->linear(x, {jobs.begin(), jobs.size()});
}

}  // namespace wick
