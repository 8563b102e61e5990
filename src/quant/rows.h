#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace wick {

// Rows of weights from one dtype to another, in parallel: any float or packed dtype that can be read to any that can be
// written. Each thread holds one row in f32, so a tensor of any size needs no copy in between.
struct RowConversion {
  DType from, to;
  const std::byte* source;
  std::byte* target;
  int64_t rows, columns;              // columns: a multiple of both dtypes' blocks
  const float* importance = nullptr;  // [columns]; see QuantFormat::encode
};
// Throws Error(kUnsupported) when `to` is only read, Error(kDType) for integers.
void convert_rows(const RowConversion& job);

}  // namespace wick
