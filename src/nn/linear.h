#pragma once

#include <array>
#include <initializer_list>
#include <memory>

#include "nn/adapters.h"
#include "ops/layers/linear.h"
#include "tensor/tensor.h"

namespace wick {

// y = x weight^T + bias. The weight is [out, in] in any dtype, as the file holds it.
struct Linear {
  Tensor weight;
  Tensor bias;         // f32 [out]; undefined: none
  Tensor input_order;  // i64 [in]: the order in which the weight's columns were sorted; undefined: as they come
  std::shared_ptr<LinearAdapters> adapters;  // null: none can be there

  bool defined() const { return weight.defined(); }
  int64_t inputs() const { return weight.dim(1); }
  int64_t outputs() const { return weight.dim(0); }
  // Whether the product is one with the weight alone, of the input as it is.
  bool is_plain() const { return !input_order.defined() && !has_adapters(); }
  bool has_adapters() const { return adapters && AdapterPass::current(); }  // on some row of this pass, perhaps
  Tensor operator()(const Tensor& x) const;                                 // [..., in] -> [..., out]
  // Of an input that may still have to be normed or activated [rows, in], plus the residual [rows, out], if there is
  // one, in as few kernels as its device allows. The bits are those of the ops one after the other.
  Tensor operator()(const LinearInput& input, const Tensor& residual) const;
};

// What several linears, up to three, make of one input.
std::array<Tensor, 3> apply_linears(const LinearInput& input, std::initializer_list<const Linear*> linears);

}  // namespace wick
