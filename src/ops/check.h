#pragma once

#include <initializer_list>

#include "base/error.h"
#include "base/text.h"
#include "ops/kernel_table.h"
#include "tensor/create.h"

namespace wick {

// Checks shared by the ops. Each throws Error whose message starts with the op's name.

Error unsupported(const char* op, Device device);

// The device's kernel for an op, or Error(kUnsupported) naming both.
template <typename Kernel>
Kernel find_kernel(const char* op, Device device, Kernel KernelTable::*entry) {
  const Kernel kernel = device.kernels().*entry;
  if (!kernel) throw unsupported(op, device);
  return kernel;
}

void check_defined(const char* op, const Tensor& x);
void check_float(const char* op, const Tensor& x);
// All on one device; undefined (optional) tensors are skipped. The error names both devices.
void check_same_device(const char* op, std::initializer_list<const Tensor*> tensors);
void check_rank(const char* op, const char* what, const Tensor& x, int rank);
// An i64, i32, u32 or u8 tensor of indices as i64, with every value in [0, size) (negative ones are errors too).
Tensor checked_indices(const char* op, const Tensor& index, int64_t size);

// The shape both broadcast to, or Error(kShape) "add: [2, 3] and [4]: sizes 3 and 4 in dimension 1 do not broadcast".
Shape broadcast_shapes(const char* op, const Shape& a, const Shape& b);
// x seen in a larger shape; no gradient is recorded.
Tensor broadcast_view(const char* op, const Tensor& x, const Shape& shape);
// Converts without recording a gradient; x itself when it has the dtype already.
Tensor as_dtype(const Tensor& x, DType dtype);

}  // namespace wick
