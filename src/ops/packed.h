#pragma once

#include "tensor/tensor.h"

namespace wick {

// Views of tensors with packed dtypes. Blocks lie along one dimension, the one with stride 1, and are never split.

// x seen through another layout; throws Error(kShape) naming the op when that would split a block. Any dtype.
Tensor view_blocks(const char* op, const Tensor& x, const Layout& layout);

// A packed tensor [..., k] as the u8 tensor of its bytes, [..., k / block_weights * block_bytes]. The blocks must lie
// along the last dimension, so not transposed; else Error(kUnsupported).
Tensor byte_view(const char* op, const Tensor& x);

// The rows of a packed matrix behind the operand `b` [..., k, n] of a matmul: its transpose [..., n, k], whose last
// dimension holds whole blocks. Throws Error(kUnsupported) when the blocks lie along n.
Tensor packed_rows(const char* op, const Tensor& b);

}  // namespace wick
