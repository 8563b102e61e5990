#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "formats/byte_reader.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace wick {

// A tensor type of GGUF: weights come in blocks along the innermost dimension.
struct GgufType {
  uint32_t code;
  std::string_view name;
  int64_t block_weights;
  int64_t block_bytes;
  std::optional<DType> dtype;  // of the tensor read from it; empty: can be listed but not read
};

// Null when there is no such type.
const GgufType* gguf_type(uint32_t code);
// The type that holds a dtype as it is; null when the format has none.
const GgufType* gguf_type(DType dtype);

// What a tensor takes in the file. Throws Error(kBadFile) when rows do not divide into blocks, or the count overflows.
int64_t gguf_bytes(const ByteReader& reader, const GgufType& type, const Shape& shape);

}  // namespace wick
