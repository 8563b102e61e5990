#include "nn/linear.h"

#include "ops/add.h"
#include "ops/index_select.h"
#include "ops/matmul.h"
#include "ops/permute.h"

namespace wick {

Tensor Linear::operator()(const Tensor& x) const {
  const Tensor& ordered = input_order.defined() ? index_select(x, -1, input_order) : x;
  const Tensor y = matmul(ordered, transpose(weight, 0, 1));
  return bias.defined() ? add(y, bias) : y;
}

}  // namespace wick
