#include "ops/packed.h"

#include "base/error.h"
#include "base/text.h"

namespace wick {
namespace {

bool keeps_blocks(const Layout& layout, int64_t weights) {
  if (layout.shape.numel() == 0) return true;
  if (layout.offset % weights != 0) return false;
  for (int d = 0; d < layout.shape.rank(); ++d) {
    const bool along_blocks = layout.strides[d] == 1 && layout.shape[d] % weights == 0;
    if (layout.shape[d] != 1 && !along_blocks && layout.strides[d] % weights != 0) return false;
  }
  return true;
}

bool blocks_last(const Layout& layout, int64_t weights) {
  const int last = layout.shape.rank() - 1;
  return last >= 0 && layout.shape[last] % weights == 0 && (layout.strides[last] == 1 || layout.shape[last] <= 1);
}

}  // namespace

Tensor view_blocks(const char* op, const Tensor& x, const Layout& layout) {
  const int64_t weights = block_weights(x.dtype());
  if (weights > 1 && !keeps_blocks(layout, weights)) {
    throw Error(ErrorCode::kShape, cat(op, ": ", x.dtype(), " ", x.shape(), " to ", layout.shape,
                                       " would split blocks of ", weights, " weights"));
  }
  return x.with_layout(layout);
}

Tensor byte_view(const char* op, const Tensor& x) {
  const int64_t weights = block_weights(x.dtype());
  if (!blocks_last(x.layout(), weights)) {
    throw Error(ErrorCode::kUnsupported,
                cat(op, ": ", x.dtype(), " ", x.shape(), " is transposed; its blocks cannot be moved"));
  }
  const int last = x.rank() - 1;
  Layout layout = x.layout();
  layout.offset = bytes_of(x.dtype(), layout.offset);
  for (int d = 0; d < last; ++d) layout.strides[d] = bytes_of(x.dtype(), layout.strides[d]);
  layout.shape = layout.shape.with(last, bytes_of(x.dtype(), x.dim(last)));
  return {x.storage(), layout, DType::kU8};
}

Tensor packed_rows(const char* op, const Tensor& b) {
  const Tensor rows = b.with_layout(b.layout().transpose(b.rank() - 2, b.rank() - 1));
  if (!blocks_last(rows.layout(), block_weights(b.dtype()))) {
    throw Error(ErrorCode::kUnsupported, cat(op, ": ", b.dtype(), " ", b.shape(),
                                             ": the blocks must lie along the inner dimension; pass transpose(w) of a "
                                             "weight [out, in]"));
  }
  return rows;
}

}  // namespace wick
