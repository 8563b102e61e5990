#include "tensor/dtype.h"

#include <algorithm>

namespace wick {
namespace {

struct DTypeInfo {
  std::string_view name;
  int64_t bytes;
  bool floating;
  bool is_signed;
  int value_bits;  // integers: bits that hold the magnitude; floats: exact integer bits (mantissa)
};

constexpr DTypeInfo kInfo[kDTypeCount] = {
    {"f64", 8, true, true, 53},   {"f32", 4, true, true, 24},  {"f16", 2, true, true, 11},
    {"bf16", 2, true, true, 8},   {"i64", 8, false, true, 63}, {"i32", 4, false, true, 31},
    {"u32", 4, false, false, 32}, {"u8", 1, false, false, 8},  {"i8", 1, false, true, 7},
};

const DTypeInfo& info(DType dtype) { return kInfo[static_cast<int>(dtype)]; }

DType promote_floats(DType a, DType b) {
  if (a == b) return a;
  return a == DType::kF64 || b == DType::kF64 ? DType::kF64 : DType::kF32;
}

DType promote_integers(DType a, DType b) {
  if (a == b) return a;
  const bool any_signed = info(a).is_signed || info(b).is_signed;
  const int bits = std::max(info(a).value_bits, info(b).value_bits);
  if (!any_signed) return bits <= 8 ? DType::kU8 : DType::kU32;
  if (bits <= 7) return DType::kI8;
  return bits <= 31 ? DType::kI32 : DType::kI64;
}

}  // namespace

std::string_view to_string(DType dtype) { return info(dtype).name; }
int64_t size_of(DType dtype) { return info(dtype).bytes; }
bool is_float(DType dtype) { return info(dtype).floating; }

DType promote(DType a, DType b) {
  if (is_float(a) && is_float(b)) return promote_floats(a, b);
  if (is_integer(a) && is_integer(b)) return promote_integers(a, b);
  const DType floating = is_float(a) ? a : b;
  const DType integer = is_float(a) ? b : a;
  // bf16 keeps 8 bits, enough for the 8-bit integers; wider integers need f64, as in NumPy.
  return info(integer).value_bits <= 8 ? floating : DType::kF64;
}

}  // namespace wick
