#pragma once

#include <initializer_list>
#include <optional>
#include <span>

#include "ops/fused_kernels.h"
#include "tensor/tensor.h"

namespace wick {

// y = x weight^T + bias. The weight is [out, in] in any dtype, as the file holds it.
struct Linear {
  Tensor weight;
  Tensor bias;         // f32 [out]; undefined: none
  Tensor input_order;  // i64 [in]: the order in which the weight's columns were sorted; undefined: as they come

  bool defined() const { return weight.defined(); }
  int64_t inputs() const { return weight.dim(1); }
  int64_t outputs() const { return weight.dim(0); }
  Tensor operator()(const Tensor& x) const;  // [tokens, in] -> [tokens, out]
};

// silu(gate(input)) * up(input) in one kernel, for `down` to multiply: of many rows already in the dtype that it rounds
// them to. Empty where there is no kernel for it.
std::optional<Tensor> apply_gated(const LinearInput& input, const Linear& gate, const Linear& up, const Linear& down);

// The products of several linears with one input, in as few kernels as its device allows: outs[i] = linears[i](input).
// `residual`, where defined, is added to each.
void apply_linears(const LinearInput& input, std::initializer_list<const Linear*> linears, const Tensor& residual,
                   std::span<Tensor> outs);

}  // namespace wick
