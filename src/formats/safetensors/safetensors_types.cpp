#include "formats/safetensors/safetensors.h"

namespace wick {
namespace {

// The first row of a dtype is the one it is written as.
constexpr SafetensorsType kTypes[] = {
    {"F64", 64, DType::kF64},
    {"F32", 32, DType::kF32},
    {"F16", 16, DType::kF16},
    {"BF16", 16, DType::kBF16},
    {"I64", 64, DType::kI64},
    {"I32", 32, DType::kI32},
    {"U32", 32, DType::kU32},
    {"U8", 8, DType::kU8},
    {"I8", 8, DType::kI8},
    {"BOOL", 8, DType::kU8},
    {"F8_E4M3", 8, DType::kF8E4M3},
    {"F8_E5M2", 8, DType::kF8E5M2},
    {"F8_E8M0", 8, DType::kF8E8M0},
    // Widened when read.
    {"U64", 64, DType::kI64},
    {"I16", 16, DType::kI32},
    {"U16", 16, DType::kI32},
    // Only listed.
    {"C64", 64, {}},
    {"F4", 4, {}},
    {"F6_E2M3", 6, {}},
    {"F6_E3M2", 6, {}},
};

}  // namespace

const SafetensorsType* safetensors_type(std::string_view name) {
  for (const SafetensorsType& type : kTypes) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

const SafetensorsType* safetensors_type(DType dtype) {
  for (const SafetensorsType& type : kTypes) {
    if (type.dtype == dtype) return &type;
  }
  return nullptr;
}

}  // namespace wick
