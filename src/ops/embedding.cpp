#include "ops/embedding.h"

#include "ops/check.h"
#include "ops/index_select.h"
#include "ops/quantize.h"
#include "ops/reshape.h"

namespace wick {

Tensor embedding(const Tensor& indices, const Tensor& weight) {
  check_defined("embedding", indices);
  check_rank("embedding", "weight", weight, 2);
  check_same_device("embedding", {&indices, &weight});
  const Tensor ids = checked_indices("embedding", indices, weight.dim(0));
  const Tensor flat = reshape(ids, {ids.numel()});
  const Tensor rows = is_packed(weight.dtype()) ? dequantize_rows(weight, flat) : index_select(weight, 0, flat);
  return reshape(rows, indices.shape().inserted(indices.rank(), weight.dim(1)));
}

}  // namespace wick
