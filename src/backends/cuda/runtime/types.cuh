#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <limits>
#include <type_traits>

#include "tensor/dtype.h"

namespace wick::cuda {

// The device's type for a storage type.
template <typename T>
struct OnDevice {
  using type = T;
};
template <>
struct OnDevice<Half> {
  using type = __half;
};
template <>
struct OnDevice<BFloat16> {
  using type = __nv_bfloat16;
};
template <>
struct OnDevice<long> {
  using type = int64_t;
};

template <typename T>
inline constexpr bool kIsHalf = std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>;
template <typename T>
inline constexpr bool kIsFloat = kIsHalf<T> || std::is_floating_point_v<T>;

// What elements are computed in: f32 for f16, bf16 and f32, f64 for f64, i64 for integers.
template <typename T>
using Wide = std::conditional_t<kIsHalf<T>, float, std::conditional_t<std::is_integral_v<T>, int64_t, T>>;
// What floats add up in.
template <typename T>
using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;

// As wick::convert: halves go through f32, floats to integers truncate and saturate, NaN becomes 0.
template <typename To, typename From>
__device__ __forceinline__ To to(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_same_v<From, __half>) {
    return to<To>(__half2float(value));
  } else if constexpr (std::is_same_v<From, __nv_bfloat16>) {
    return to<To>(__bfloat162float(value));
  } else if constexpr (std::is_same_v<To, __half>) {
    return __float2half_rn(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, __nv_bfloat16>) {
    return __float2bfloat16_rn(static_cast<float>(value));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
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
template <typename T>
__device__ __forceinline__ Wide<T> widen(T value) {
  return to<Wide<T>>(value);
}

// visit_dtype with the device's types.
template <typename Body>
decltype(auto) visit_device_dtype(DType dtype, Body&& body) {
  return visit_dtype(dtype, [&](auto zero) { return body(typename OnDevice<decltype(zero)>::type{}); });
}
// Floats only.
template <typename Body>
void visit_float(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::kF64: return body(double{});
    case DType::kF32: return body(float{});
    case DType::kF16: return body(__half{});
    case DType::kBF16: return body(__nv_bfloat16{});
    default: throw Error(ErrorCode::kDType, cat(dtype, " is not a floating type"));
  }
}

}  // namespace wick::cuda
