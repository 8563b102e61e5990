#include "nn/linear.h"

#include "base/inline_vector.h"
#include "ops/add.h"
#include "ops/index_select.h"
#include "ops/matmul.h"
#include "ops/mul.h"
#include "ops/permute.h"
#include "ops/rms_norm.h"
#include "ops/silu.h"
#include "tensor/create.h"

namespace wick {

Tensor Linear::operator()(const Tensor& x) const {
  const Tensor& ordered = input_order.defined() ? index_select(x, -1, input_order) : x;
  const Tensor y = matmul(ordered, transpose(weight, 0, 1));
  return bias.defined() ? add(y, bias) : y;
}

std::optional<Tensor> apply_gated(const LinearInput& input, const Linear& gate, const Linear& up, const Linear& down) {
  const FusedKernels* fused = fused_kernels(input.x.device());
  const auto plain = [](const Linear& linear) {
    return !linear.input_order.defined() && linear.weight.strides()[1] == 1;
  };
  if (!fused || input.x.dtype() != DType::kF32 || !input.x.is_contiguous() || !plain(gate) || !plain(up)) {
    return std::nullopt;
  }
  constexpr int64_t kManyRows = 64;
  const DType dtype = gate.weight.dtype();
  const bool rounds = input.x.dim(0) > kManyRows && (dtype == DType::kF16 || dtype == DType::kBF16) &&
                      down.weight.dtype() == dtype && plain(down);
  const Tensor out = empty({input.x.dim(0), gate.outputs()}, rounds ? dtype : DType::kF32, input.x.device());
  if (!fused->gated_linear(input, {gate.weight, gate.bias, {}, out}, {up.weight, up.bias, {}, {}})) return std::nullopt;
  return out;
}

void apply_linears(const LinearInput& input, std::initializer_list<const Linear*> linears, const Tensor& residual,
                   std::span<Tensor> outs) {
  const FusedKernels* fused = fused_kernels(input.x.device());
  bool together = fused && input.x.is_contiguous();
  for (const Linear* linear : linears) together &= !linear->input_order.defined() && linear->weight.strides()[1] == 1;
  InlineVector<LinearJob, 4> jobs;
  size_t next = 0;
  for (const Linear* linear : linears) {
    if (together) {
      outs[next] = empty({input.x.dim(0), linear->outputs()}, DType::kF32, input.x.device());
      jobs.push_back({linear->weight, linear->bias, residual, outs[next]});
    } else {
      const Tensor x = input.norm_weight.defined() ? rms_norm(input.x, input.norm_weight, input.eps)
                       : input.up.defined()        ? mul(silu(input.x), input.up)
                                                   : input.x;
      const Tensor y = (*linear)(x);
      outs[next] = residual.defined() ? add(residual, y) : y;
    }
    ++next;
  }
  if (together) fused->linear(input, jobs);
}

}  // namespace wick
