#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

namespace wick {

// How a packed dtype turns into numbers and back. `count` is a multiple of the dtype's block. Block pointers need no
// alignment. Neither function allocates, throws or keeps state, so rows may be converted in parallel; any bytes decode
// to something without reading out of bounds.
struct QuantFormat {
  void (*decode)(const std::byte* blocks, float* weights, int64_t count);
  // `importance` (may be null) has one non-negative weight per value: the encoder minimises
  // sum of importance * (weight - decoded)^2. Values that are not finite count as 0; scales saturate at the largest f16
  // where they are f16. One call encodes (part of) one row; kI8Channel needs the whole row. Null for formats only read.
  void (*encode)(const float* weights, std::byte* blocks, int64_t count, const float* importance);
};

// Throws Error(kDType) for dtypes that are not packed.
const QuantFormat& quant_format(DType dtype);

}  // namespace wick
