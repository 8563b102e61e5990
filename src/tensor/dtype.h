#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>

#include "base/error.h"
#include "base/text.h"
#include "tensor/half.h"

namespace wick {

enum class DType : uint8_t {
  // Element dtypes: every op computes on these.
  kF64,
  kF32,
  kF16,
  kBF16,
  kI64,
  kI32,
  kU32,
  kU8,
  kI8,
  // Packed dtypes: storage formats of weights, each described in quant/. They can be multiplied with (matmul), looked
  // up in (embedding), converted (to_dtype), copied and viewed by whole rows; nothing else computes on them.
  kF8E4M3,
  kF8E5M2,
  kF8E8M0,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kQ2_K,
  kQ3_K,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kQ8_K,
  kIQ4_NL,
  kIQ4_XS,
  kMXFP4,
  kIQ1_S,
  kIQ1_M,
  kIQ2_XXS,
  kIQ2_XS,
  kIQ2_S,
  kIQ3_XXS,
  kIQ3_S,
  kTQ1_0,
  kTQ2_0,
  kI8Channel,  // per-channel INT8
  kGroup4,     // GPTQ and AWQ, 4 bits
  kGroup8,     // GPTQ, 8 bits
  kF8Channel,  // FP8 with scales
  kNF4,        // bitsandbytes
  kNVFP4,
};
inline constexpr int kElementDTypeCount = 9;
inline constexpr int kDTypeCount = static_cast<int>(DType::kNVFP4) + 1;

// "f32", "bf16", "q4_k", ...
std::string_view to_string(DType dtype);
// The dtype of that name; empty when there is none.
std::optional<DType> dtype_named(std::string_view name);

inline bool is_packed(DType dtype) { return static_cast<int>(dtype) >= kElementDTypeCount; }
bool is_float(DType dtype);    // f64, f32, f16, bf16
bool is_integer(DType dtype);  // i64 to i8
int64_t size_of(DType dtype);  // bytes per element; throws Error(kDType) for packed dtypes

// Packed dtypes come in blocks of weights along the last dimension; for element dtypes a block is one element.
int64_t block_weights(DType dtype);
int64_t block_bytes(DType dtype);
// Bytes of `count` elements, a multiple of block_weights. Unchecked: for sizes that are known to fit.
inline int64_t bytes_of(DType dtype, int64_t count) { return count / block_weights(dtype) * block_bytes(dtype); }

// The smallest dtype that holds every value of both, as NumPy does it: u8 + f32 = f32, i32 + f32 = f64,
// f16 + bf16 = f32. Where NumPy would answer i16 (u8 + i8), the next wider dtype stands in: i32.
DType promote(DType a, DType b);

template <typename T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, double>)
    return DType::kF64;
  else if constexpr (std::is_same_v<T, float>)
    return DType::kF32;
  else if constexpr (std::is_same_v<T, Half>)
    return DType::kF16;
  else if constexpr (std::is_same_v<T, BFloat16>)
    return DType::kBF16;
  else if constexpr (std::is_same_v<T, uint8_t>)
    return DType::kU8;
  else if constexpr (std::is_same_v<T, int8_t>)
    return DType::kI8;
  else if constexpr (std::is_same_v<T, uint32_t>)
    return DType::kU32;
  else if constexpr (std::is_integral_v<T> && std::is_signed_v<T> && sizeof(T) == 8)
    return DType::kI64;
  else if constexpr (std::is_integral_v<T> && std::is_signed_v<T> && sizeof(T) == 4)
    return DType::kI32;
  else
    static_assert(!sizeof(T), "no dtype for this C++ type");
}

// "q4_k is a storage format ...": what an op that computes on elements says to a packed tensor.
Error packed_dtype_error(DType dtype);

// Calls body with a value of the dtype's C++ type: visit_dtype(d, [&](auto zero) { using T = decltype(zero); ... }).
template <typename Body>
decltype(auto) visit_dtype(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::kF64: return body(double{});
    case DType::kF32: return body(float{});
    case DType::kF16: return body(Half{});
    case DType::kBF16: return body(BFloat16{});
    case DType::kI64: return body(int64_t{});
    case DType::kI32: return body(int32_t{});
    case DType::kU32: return body(uint32_t{});
    case DType::kU8: return body(uint8_t{});
    case DType::kI8: return body(int8_t{});
    default: throw packed_dtype_error(dtype);
  }
}

// Element conversion between any two storage types; halves go through f32.
template <typename To, typename From>
To convert(From value) {
  constexpr bool from_half = std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>;
  constexpr bool to_half = std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>;
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (from_half) {
    return convert<To>(static_cast<float>(value));
  } else if constexpr (to_half) {
    return To(static_cast<float>(value));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // A float outside the integer's range is undefined in C++; here it saturates, and NaN becomes 0.
    if (value != value) return To{0};
    constexpr auto kLow = static_cast<From>(std::numeric_limits<To>::min());
    constexpr auto kHigh = static_cast<From>(std::numeric_limits<To>::max());
    if (value <= kLow) return std::numeric_limits<To>::min();
    if (value >= kHigh) return std::numeric_limits<To>::max();
    return static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace wick
