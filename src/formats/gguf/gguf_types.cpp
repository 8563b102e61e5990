#include "formats/gguf/gguf_types.h"

#include "base/checked.h"
#include "base/text.h"

namespace wick {
namespace {

// Codes that are missing were never in a released format, or were given up by it.
constexpr GgufType kTypes[] = {
    {0, "F32", 1, 4, DType::kF32},
    {1, "F16", 1, 2, DType::kF16},
    {2, "Q4_0", 32, 18, DType::kQ4_0},
    {3, "Q4_1", 32, 20, DType::kQ4_1},
    {6, "Q5_0", 32, 22, DType::kQ5_0},
    {7, "Q5_1", 32, 24, DType::kQ5_1},
    {8, "Q8_0", 32, 34, DType::kQ8_0},
    {9, "Q8_1", 32, 36, {}},
    {10, "Q2_K", 256, 84, DType::kQ2_K},
    {11, "Q3_K", 256, 110, DType::kQ3_K},
    {12, "Q4_K", 256, 144, DType::kQ4_K},
    {13, "Q5_K", 256, 176, DType::kQ5_K},
    {14, "Q6_K", 256, 210, DType::kQ6_K},
    {15, "Q8_K", 256, 292, DType::kQ8_K},
    {16, "IQ2_XXS", 256, 66, DType::kIQ2_XXS},
    {17, "IQ2_XS", 256, 74, DType::kIQ2_XS},
    {18, "IQ3_XXS", 256, 98, DType::kIQ3_XXS},
    {19, "IQ1_S", 256, 50, DType::kIQ1_S},
    {20, "IQ4_NL", 32, 18, DType::kIQ4_NL},
    {21, "IQ3_S", 256, 110, DType::kIQ3_S},
    {22, "IQ2_S", 256, 82, DType::kIQ2_S},
    {23, "IQ4_XS", 256, 136, DType::kIQ4_XS},
    {24, "I8", 1, 1, DType::kI8},
    {25, "I16", 1, 2, DType::kI32},  // widened when read
    {26, "I32", 1, 4, DType::kI32},
    {27, "I64", 1, 8, DType::kI64},
    {28, "F64", 1, 8, DType::kF64},
    {29, "IQ1_M", 256, 56, DType::kIQ1_M},
    {30, "BF16", 1, 2, DType::kBF16},
    {34, "TQ1_0", 256, 54, DType::kTQ1_0},
    {35, "TQ2_0", 256, 66, DType::kTQ2_0},
    {39, "MXFP4", 32, 17, DType::kMXFP4},
};

}  // namespace

const GgufType* gguf_type(uint32_t code) {
  for (const GgufType& type : kTypes) {
    if (type.code == code) return &type;
  }
  return nullptr;
}

const GgufType* gguf_type(DType dtype) {
  for (const GgufType& type : kTypes) {
    const bool same_size = type.block_bytes == block_bytes(dtype);  // not the one that is widened
    if (type.dtype == dtype && same_size) return &type;
  }
  return nullptr;
}

int64_t gguf_bytes(const ByteReader& reader, const GgufType& type, const Shape& shape) {
  const int64_t row = shape.rank() ? shape.back() : 1;
  if (row % type.block_weights != 0) {
    throw reader.bad(cat("has rows of ", row, " elements, which do not divide into the ", type.name, " blocks of ",
                         type.block_weights));
  }
  const auto bytes = checked_mul(shape.numel() / type.block_weights, type.block_bytes);
  if (!bytes) throw reader.bad(cat("of ", type.name, " ", shape, " has more bytes than 63 bits can count"));
  return *bytes;
}

}  // namespace wick
