#include "ops/index.h"

#include "ops/autograd.h"
#include "ops/check.h"
#include "ops/layers/quantize.h"
#include "ops/view.h"

namespace wick {

void check_index_shape(const char* op, const Shape& x, const Shape& index, int dim) {
  bool fits = x.rank() == index.rank();
  for (int d = 0; fits && d < x.rank(); ++d) fits = d == dim || index[d] <= x[d];
  if (!fits) {
    throw Error(ErrorCode::kShape,
                cat(op, ": index ", index, " does not fit ", x, " (only dimension ", dim, " may be larger)"));
  }
}

Tensor gather(const Tensor& x, int64_t dim, const Tensor& index) {
  check_defined("gather", x);
  check_same_device("gather", {&x, &index});
  const int d = normalize_dim("gather", dim, x.rank());
  const auto kernel = find_kernel("gather", x.device(), &KernelTable::gather);
  const Tensor places = checked_indices("gather", index, x.dim(d));
  check_index_shape("gather", x.shape(), index.shape(), d);
  Tensor out = empty(index.shape(), x.dtype(), x.device());
  kernel(x, d, places, out);
  if (tracks(x)) {
    record(out, "gather", {x}, [from = x.shape(), d, places](const Tensor& grad) -> Grads {
      return {scatter_add(zeros(from, grad.dtype(), grad.device()), d, places, grad)};
    });
  }
  return out;
}

Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src) {
  check_defined("scatter", x);
  check_defined("scatter", src);
  check_same_device("scatter", {&x, &index, &src});
  const int d = normalize_dim("scatter", dim, x.rank());
  const auto kernel = find_kernel("scatter", x.device(), &KernelTable::scatter);
  const Tensor places = checked_indices("scatter", index, x.dim(d));
  check_index_shape("scatter", x.shape(), index.shape(), d);
  if (!(src.shape() == index.shape())) {
    throw Error(ErrorCode::kShape, cat("scatter: source ", src.shape(), " for an index of shape ", index.shape()));
  }
  Tensor out = x.detach().clone();
  kernel(out, d, places, as_dtype(src, x.dtype()));
  if (tracks(x, src)) {
    record(out, "scatter", {x, src}, [d, places](const Tensor& grad) -> Grads {
      return {scatter(grad, d, places, zeros(places.shape(), grad.dtype(), grad.device())), gather(grad, d, places)};
    });
  }
  return out;
}

Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src) {
  check_defined("scatter_add", x);
  check_defined("scatter_add", src);
  check_same_device("scatter_add", {&x, &index, &src});
  const int d = normalize_dim("scatter_add", dim, x.rank());
  const auto kernel = find_kernel("scatter_add", x.device(), &KernelTable::scatter_add);
  const Tensor places = checked_indices("scatter_add", index, x.dim(d));
  check_index_shape("scatter_add", x.shape(), index.shape(), d);
  if (!(src.shape() == index.shape())) {
    throw Error(ErrorCode::kShape, cat("scatter_add: source ", src.shape(), " for an index of shape ", index.shape()));
  }
  Tensor out = x.detach().clone();
  kernel(out, d, places, as_dtype(src, x.dtype()));
  if (tracks(x, src)) {
    record(out, "scatter_add", {x, src}, [d, places](const Tensor& grad) -> Grads {
      return {grad, gather(grad, d, places)};
    });
  }
  return out;
}

Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index) {
  check_defined("index_select", x);
  check_rank("index_select", "index", index, 1);
  check_same_device("index_select", {&x, &index});
  const int d = normalize_dim("index_select", dim, x.rank());
  const auto kernel = find_kernel("index_select", x.device(), &KernelTable::index_select);
  const Tensor places = checked_indices("index_select", index, x.dim(d));
  Tensor out = empty(x.shape().with(d, index.numel()), x.dtype(), x.device());
  kernel(x, d, places, out);
  if (tracks(x)) {
    record(out, "index_select", {x}, [from = x.shape(), d, places](const Tensor& grad) -> Grads {
      return {index_add(zeros(from, grad.dtype(), grad.device()), d, places, grad)};
    });
  }
  return out;
}

Tensor index_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src) {
  check_defined("index_add", x);
  check_defined("index_add", src);
  check_rank("index_add", "index", index, 1);
  check_same_device("index_add", {&x, &index, &src});
  const int d = normalize_dim("index_add", dim, x.rank());
  const auto kernel = find_kernel("index_add", x.device(), &KernelTable::index_add);
  if (src.rank() != x.rank() || !(src.shape() == x.shape().with(d, index.numel()))) {
    throw Error(ErrorCode::kShape,
                cat("index_add: source ", src.shape(), " for ", index.numel(), " slices of ", x.shape()));
  }
  const Tensor places = checked_indices("index_add", index, x.dim(d));
  Tensor out = x.detach().clone();
  kernel(out, d, places, as_dtype(src, x.dtype()));
  if (tracks(x, src)) {
    record(out, "index_add", {x, src}, [d, places](const Tensor& grad) -> Grads {
      return {grad, index_select(grad, d, places)};
    });
  }
  return out;
}

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
