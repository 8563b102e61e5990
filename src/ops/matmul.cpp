#include "ops/matmul.h"

#include "ops/autograd.h"
#include "ops/check.h"
#include "ops/permute.h"

namespace wick {

namespace {

Shape batch_of(const Shape& shape) { return Shape(shape.dims().first(shape.rank() - 2)); }

Shape with_matrix(const Shape& batch, int64_t rows, int64_t cols) {
  return batch.inserted(batch.rank(), rows).inserted(batch.rank() + 1, cols);
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) {
  check_float("matmul", a);
  check_float("matmul", b);
  check_same_device("matmul", {&a, &b});
  if (a.rank() < 2 || b.rank() < 2) {
    throw Error(ErrorCode::kShape, cat("matmul: ", a.shape(), " x ", b.shape(), ": both need at least two dimensions"));
  }
  if (a.dim(-1) != b.dim(-2)) {
    throw Error(ErrorCode::kShape, cat("matmul: ", a.shape(), " x ", b.shape(), ": inner dimensions ", a.dim(-1),
                                       " and ", b.dim(-2), " differ"));
  }
  const auto kernel = find_kernel("matmul", a.device(), &KernelTable::matmul);
  const Shape batch = broadcast_shapes("matmul", batch_of(a.shape()), batch_of(b.shape()));
  const int64_t m = a.dim(-2), k = a.dim(-1), n = b.dim(-1);
  Tensor out = empty(with_matrix(batch, m, n), promote(a.dtype(), b.dtype()), a.device());
  kernel(broadcast_view("matmul", a, with_matrix(batch, m, k)), broadcast_view("matmul", b, with_matrix(batch, k, n)),
         out);
  if (tracks(a, b)) {
    record(out, "matmul", {a, b}, [a, b](const Tensor& grad) -> Grads {
      Grads grads(2);
      if (a.requires_grad()) grads[0] = sum_to(matmul(grad, transpose(b, -1, -2)), a.shape());
      if (b.requires_grad()) grads[1] = sum_to(matmul(transpose(a, -1, -2), grad), b.shape());
      return grads;
    });
  }
  return out;
}

}  // namespace wick
