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

Tensor take_rows(const Tensor& table, const Tensor& index) {
  check_rank("take_rows", "table", table, 2);
  check_rank("take_rows", "index", index, 1);
  check_same_device("take_rows", {&table, &index});
  if (index.dtype() != DType::kI64)
    throw Error(ErrorCode::kDType, cat("take_rows: index is ", index.dtype(), ", expected i64"));
  if (is_packed(table.dtype())) return dequantize_rows(table, index);
  const auto kernel = find_kernel("take_rows", table.device(), &KernelTable::index_select);
  Tensor out = empty({index.numel(), table.dim(1)}, table.dtype(), table.device());
  kernel(table, 0, index, out);
  return out;
}

}  // namespace wick
