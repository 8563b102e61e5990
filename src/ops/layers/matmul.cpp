#include "ops/layers/matmul.h"

#include "ops/autograd.h"
#include "ops/check.h"
#include "ops/layers/quantize.h"
#include "ops/packed.h"
#include "ops/view.h"

namespace wick {

namespace {

Shape batch_of(const Shape& shape) { return Shape(shape.dims().first(shape.rank() - 2)); }

Shape with_matrix(const Shape& batch, int64_t rows, int64_t cols) {
  return batch.inserted(batch.rank(), rows).inserted(batch.rank() + 1, cols);
}

// a [batch..., m, k] x the transpose of packed rows [batch..., n, k]. One matrix of weights serves all rows of a.
void multiply_packed(const Tensor& a, const Tensor& b, const Shape& batch, const Tensor& out) {
  const auto kernel = find_kernel("matmul", a.device(), &KernelTable::matmul_packed);
  const Tensor w = packed_rows("matmul", b);
  const int64_t m = a.dim(-2), k = a.dim(-1), n = b.dim(-1);
  if (out.numel() == 0) return;
  const Tensor x = a.contiguous();
  if (w.rank() == 2) return kernel(reshape(x, {-1, k}), w, reshape(out, {-1, n}));
  const Tensor xs = broadcast_view("matmul", x, with_matrix(batch, m, k));
  const Tensor ws = broadcast_view("matmul", w, with_matrix(batch, n, k));
  const auto nest = merge_loops<2>(batch, {xs.strides(), ws.strides()});
  for (int64_t i = 0; i < batch.numel(); ++i) {
    const auto offsets = nest.offsets(i / nest.inner_size());
    const int64_t inner = i % nest.inner_size();
    const auto matrix = [&](const Tensor& t, int operand, int64_t rows, int64_t cols, int64_t row_stride) {
      Layout layout = Layout::contiguous({rows, cols});
      layout.strides[0] = row_stride;
      layout.offset = t.layout().offset + offsets[operand] + inner * nest.inner_stride(operand);
      return t.with_layout(layout);
    };
    kernel(matrix(xs, 0, m, k, k), matrix(ws, 1, n, k, w.strides()[w.rank() - 2]),
           out.with_layout(Layout{{m, n}, Layout::contiguous({m, n}).strides, i * m * n}));
  }
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) {
  check_float("matmul", a);
  check_defined("matmul", b);
  const bool packed = is_packed(b.dtype());
  if (!packed) check_float("matmul", b);
  if (packed && a.dtype() == DType::kF64) {
    throw Error(ErrorCode::kDType, cat("matmul: f64 x ", b.dtype(), "; packed weights take f32, f16 or bf16"));
  }
  check_same_device("matmul", {&a, &b});
  if (a.rank() < 2 || b.rank() < 2) {
    throw Error(ErrorCode::kShape, cat("matmul: ", a.shape(), " x ", b.shape(), ": both need at least two dimensions"));
  }
  if (a.dim(-1) != b.dim(-2)) {
    throw Error(ErrorCode::kShape, cat("matmul: ", a.shape(), " x ", b.shape(), ": inner dimensions ", a.dim(-1),
                                       " and ", b.dim(-2), " differ"));
  }
  const Shape batch = broadcast_shapes("matmul", batch_of(a.shape()), batch_of(b.shape()));
  const int64_t m = a.dim(-2), k = a.dim(-1), n = b.dim(-1);
  Tensor out = empty(with_matrix(batch, m, n), packed ? a.dtype() : promote(a.dtype(), b.dtype()), a.device());
  if (packed) {
    multiply_packed(a, b, batch, out);
  } else {
    const auto kernel = find_kernel("matmul", a.device(), &KernelTable::matmul);
    kernel(broadcast_view("matmul", a, with_matrix(batch, m, k)), broadcast_view("matmul", b, with_matrix(batch, k, n)),
           out);
  }
  if (tracks(a, b)) {
    record(out, "matmul", {a, b}, [a, b](const Tensor& grad) -> Grads {
      Grads grads(2);
      if (a.requires_grad()) {
        const Tensor weight = is_packed(b.dtype()) ? dequantize(packed_rows("matmul", b)) : transpose(b, -1, -2);
        grads[0] = sum_to(matmul(grad, weight), a.shape());
      }
      if (b.requires_grad()) grads[1] = sum_to(matmul(transpose(a, -1, -2), grad), b.shape());
      return grads;
    });
  }
  return out;
}

}  // namespace wick
