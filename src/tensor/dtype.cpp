#include "tensor/dtype.h"

#include <algorithm>
#include <iterator>

namespace wick {
namespace {

enum class Kind : uint8_t { kFloat, kInteger, kPacked };

struct DTypeInfo {
  std::string_view name;
  Kind kind;
  int64_t bytes;    // of a block
  int64_t weights;  // in a block; 1 for element dtypes
  bool is_signed = true;
  int value_bits = 0;  // integers: bits that hold the magnitude; floats: exact integer bits (mantissa)
};

constexpr DTypeInfo kInfo[] = {
    {"f64", Kind::kFloat, 8, 1, true, 53},    {"f32", Kind::kFloat, 4, 1, true, 24},
    {"f16", Kind::kFloat, 2, 1, true, 11},    {"bf16", Kind::kFloat, 2, 1, true, 8},
    {"i64", Kind::kInteger, 8, 1, true, 63},  {"i32", Kind::kInteger, 4, 1, true, 31},
    {"u32", Kind::kInteger, 4, 1, false, 32}, {"u8", Kind::kInteger, 1, 1, false, 8},
    {"i8", Kind::kInteger, 1, 1, true, 7},    {"f8_e4m3", Kind::kPacked, 1, 1},
    {"f8_e5m2", Kind::kPacked, 1, 1},         {"f8_e8m0", Kind::kPacked, 1, 1},
    {"q4_0", Kind::kPacked, 18, 32},          {"q4_1", Kind::kPacked, 20, 32},
    {"q5_0", Kind::kPacked, 22, 32},          {"q5_1", Kind::kPacked, 24, 32},
    {"q8_0", Kind::kPacked, 34, 32},          {"q2_k", Kind::kPacked, 84, 256},
    {"q3_k", Kind::kPacked, 110, 256},        {"q4_k", Kind::kPacked, 144, 256},
    {"q5_k", Kind::kPacked, 176, 256},        {"q6_k", Kind::kPacked, 210, 256},
    {"q8_k", Kind::kPacked, 292, 256},        {"iq4_nl", Kind::kPacked, 18, 32},
    {"iq4_xs", Kind::kPacked, 136, 256},      {"mxfp4", Kind::kPacked, 17, 32},
    {"iq1_s", Kind::kPacked, 50, 256},        {"iq1_m", Kind::kPacked, 56, 256},
    {"iq2_xxs", Kind::kPacked, 66, 256},      {"iq2_xs", Kind::kPacked, 74, 256},
    {"iq2_s", Kind::kPacked, 82, 256},        {"iq3_xxs", Kind::kPacked, 98, 256},
    {"iq3_s", Kind::kPacked, 110, 256},       {"tq1_0", Kind::kPacked, 54, 256},
    {"tq2_0", Kind::kPacked, 66, 256},        {"i8_channel", Kind::kPacked, 68, 64},
    {"group4", Kind::kPacked, 20, 32},        {"group8", Kind::kPacked, 36, 32},
    {"f8_channel", Kind::kPacked, 68, 64},    {"nf4", Kind::kPacked, 36, 64},
    {"nvfp4", Kind::kPacked, 40, 64},
};
static_assert(std::size(kInfo) == kDTypeCount);

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
bool is_float(DType dtype) { return info(dtype).kind == Kind::kFloat; }
bool is_integer(DType dtype) { return info(dtype).kind == Kind::kInteger; }
int64_t block_weights(DType dtype) { return info(dtype).weights; }
int64_t block_bytes(DType dtype) { return info(dtype).bytes; }

std::optional<DType> dtype_named(std::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (kInfo[i].name == name) return static_cast<DType>(i);
  }
  return {};
}

int64_t size_of(DType dtype) {
  if (is_packed(dtype)) throw packed_dtype_error(dtype);
  return info(dtype).bytes;
}

Error packed_dtype_error(DType dtype) {
  return {ErrorCode::kDType,
          cat(dtype, " is a storage format for matmul and embedding; convert with to_dtype before other operations")};
}

DType promote(DType a, DType b) {
  for (const DType dtype : {a, b}) {
    if (is_packed(dtype)) throw packed_dtype_error(dtype);
  }
  if (is_float(a) && is_float(b)) return promote_floats(a, b);
  if (is_integer(a) && is_integer(b)) return promote_integers(a, b);
  const DType floating = is_float(a) ? a : b;
  const DType integer = is_float(a) ? b : a;
  // bf16 keeps 8 bits, enough for the 8-bit integers; wider integers need f64, as in NumPy.
  return info(integer).value_bits <= 8 ? floating : DType::kF64;
}

}  // namespace wick
