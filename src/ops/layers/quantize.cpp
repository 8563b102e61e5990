#include "ops/layers/quantize.h"

#include <vector>

#include "ops/check.h"
#include "ops/packed.h"
#include "ops/view.h"
#include "quant/format.h"
#include "quant/rows.h"

namespace wick {

Tensor quantize(const Tensor& x, DType dtype, const Tensor& importance) {
  check_float("quantize", x);
  if (!is_packed(dtype)) {
    throw Error(ErrorCode::kDType, cat("quantize: ", dtype, " is not a packed dtype; use to_dtype"));
  }
  if (!quant_format(dtype).encode) {
    throw Error(ErrorCode::kUnsupported, cat("quantize: ", dtype, " can be read but not written"));
  }
  const int64_t k = x.rank() == 0 ? 1 : x.dim(-1);
  const Tensor source = x.to_device(Device::cpu()).contiguous();
  std::vector<float> weights;
  if (importance.defined()) {
    weights = importance.to_vector<float>();
    if (static_cast<int64_t>(weights.size()) != k) {
      throw Error(ErrorCode::kShape, cat("quantize: ", weights.size(), " importances for ", k, " columns"));
    }
  }
  Tensor out = empty(x.shape(), dtype, source.device());
  if (out.numel() == 0) return out.to_device(x.device());
  convert_rows(
      {x.dtype(), dtype, source.raw(), out.raw(), out.numel() / k, k, weights.empty() ? nullptr : weights.data()});
  return out.to_device(x.device());
}

Tensor dequantize(const Tensor& x, DType dtype) {
  check_defined("dequantize", x);
  if (!is_packed(x.dtype())) throw Error(ErrorCode::kDType, cat("dequantize: ", x.dtype(), " is not a packed dtype"));
  const auto kernel = find_kernel("dequantize", x.device(), &KernelTable::dequantize);
  Tensor out = empty(x.shape(), DType::kF32, x.device());
  if (out.numel() > 0) {
    const Tensor whole = x.is_contiguous() ? x.detach() : x.detach().clone();
    const int64_t k = x.rank() == 0 ? 1 : x.dim(-1);
    const Shape matrix{x.numel() / k, k};
    kernel(whole.with_layout(Layout{matrix, Layout::contiguous(matrix).strides, whole.layout().offset}), Tensor(),
           out.with_layout(Layout::contiguous(matrix)));
  }
  return as_dtype(out, dtype);
}

Tensor dequantize_rows(const Tensor& matrix, const Tensor& rows) {
  const auto kernel = find_kernel("dequantize", matrix.device(), &KernelTable::dequantize);
  Tensor out = empty({rows.numel(), matrix.dim(1)}, DType::kF32, matrix.device());
  byte_view("embedding", matrix);  // throws when rows are not whole
  kernel(matrix, rows, out);
  return out;
}

}  // namespace wick
