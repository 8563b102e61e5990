#include "ops/check.h"

#include <algorithm>

#include "ops/layers/quantize.h"

namespace wick {

Error unsupported(const char* op, Device device) {
  return {ErrorCode::kUnsupported, cat(op, ": not supported on ", device)};
}

void check_defined(const char* op, const Tensor& x) {
  if (!x.defined()) throw Error(ErrorCode::kInvalidArgument, cat(op, ": an input tensor is empty (never assigned)"));
}

void check_float(const char* op, const Tensor& x) {
  check_defined(op, x);
  if (is_packed(x.dtype())) throw Error(ErrorCode::kDType, cat(op, ": ", packed_dtype_error(x.dtype()).what()));
  if (!is_float(x.dtype())) {
    throw Error(ErrorCode::kDType,
                cat(op, ": dtype ", x.dtype(), " is not a floating type; convert with to_dtype first"));
  }
}

void check_same_device(const char* op, std::initializer_list<const Tensor*> tensors) {
  const Tensor* first = nullptr;
  for (const Tensor* tensor : tensors) {
    if (!tensor->defined()) continue;
    if (!first) first = tensor;
    if (tensor->device() != first->device()) {
      throw Error(ErrorCode::kDevice,
                  cat(op, ": one tensor is on ", first->device(), " and another on ", tensor->device()));
    }
  }
}

void check_rank(const char* op, const char* what, const Tensor& x, int rank) {
  check_defined(op, x);
  if (x.rank() != rank) {
    throw Error(ErrorCode::kShape, cat(op, ": ", what, " has shape ", x.shape(), ", expected rank ", rank));
  }
}

Tensor checked_indices(const char* op, const Tensor& index, int64_t size) {
  check_defined(op, index);
  if (!is_integer(index.dtype())) {
    throw Error(ErrorCode::kDType, cat(op, ": indices have dtype ", index.dtype(), ", expected an integer type"));
  }
  Tensor wide = as_dtype(index, DType::kI64);
  if (wide.numel() == 0) return wide;
  // On the host the values are looked at in place; other devices reduce first so that two numbers travel.
  int64_t low = 0, high = 0;
  if (wide.device().is_host() && wide.is_contiguous()) {
    const auto* values = reinterpret_cast<const int64_t*>(wide.raw());
    const auto [least, most] = std::minmax_element(values, values + wide.numel());
    low = *least;
    high = *most;
  } else {
    const Shape ones_shape(std::span<const int64_t>(std::vector<int64_t>(wide.rank(), 1)));
    const Tensor least = empty(ones_shape, DType::kI64, wide.device());
    const Tensor most = empty(ones_shape, DType::kI64, wide.device());
    const auto reduce = find_kernel(op, wide.device(), &KernelTable::reduce);
    reduce(ReduceOp::kMin, wide, least);
    reduce(ReduceOp::kMax, wide, most);
    low = least.to_vector<int64_t>()[0];
    high = most.to_vector<int64_t>()[0];
  }
  if (low < 0 || high >= size) {
    throw Error(ErrorCode::kInvalidArgument,
                cat(op, ": index ", low < 0 ? low : high, " is out of range for a dimension of size ", size));
  }
  return wide;
}

Shape broadcast_shapes(const char* op, const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  std::array<int64_t, kMaxRank> dims{};
  for (int d = 0; d < rank; ++d) {
    const int in_a = d - (rank - a.rank()), in_b = d - (rank - b.rank());
    const int64_t size_a = in_a < 0 ? 1 : a[in_a], size_b = in_b < 0 ? 1 : b[in_b];
    if (size_a != size_b && size_a != 1 && size_b != 1) {
      throw Error(ErrorCode::kShape, cat(op, ": ", a, " and ", b, ": sizes ", size_a, " and ", size_b, " in dimension ",
                                         d, " do not broadcast"));
    }
    dims[d] = size_a == 1 ? size_b : size_a;
  }
  return Shape(std::span<const int64_t>(dims.data(), rank));
}

Tensor broadcast_view(const char* op, const Tensor& x, const Shape& shape) {
  const auto layout = x.layout().broadcast_to(shape);
  if (!layout) throw Error(ErrorCode::kShape, cat(op, ": ", x.shape(), " cannot be broadcast to ", shape));
  return x.with_layout(*layout);
}

Tensor as_dtype(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x.detach();
  if (is_packed(x.dtype())) return dequantize(x, dtype);
  Tensor out = empty(x.shape(), dtype, x.device());
  find_kernel("to_dtype", x.device(), &KernelTable::copy)(x, out);
  return out;
}

}  // namespace wick
