// Vectors of f64 for WebAssembly. Highway 1.0.3 defines their type but not their arithmetic; what the kernels use of it
// is added to its namespace here, beside the f32 versions. Empty for every other target. Included once per target.
#if defined(WICK_BACKENDS_CPU_FLOAT64_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_BACKENDS_CPU_FLOAT64_INL_H
#undef WICK_BACKENDS_CPU_FLOAT64_INL_H
#else
#define WICK_BACKENDS_CPU_FLOAT64_INL_H
#endif

#include "hwy/highway.h"

#if HWY_TARGET == HWY_WASM && !HWY_HAVE_FLOAT64
#include <cmath>

HWY_BEFORE_NAMESPACE();
namespace hwy::HWY_NAMESPACE {

template <size_t N>
using VecF64 = Vec128<double, N>;
template <size_t N>
using MaskF64 = Mask128<double, N>;

template <size_t N>
HWY_API VecF64<N> Set(Simd<double, N, 0>, double value) {
  return {wasm_f64x2_splat(value)};
}
// Highway's own would convert the bits of the lane as an integer.
template <size_t N>
HWY_API double GetLane(VecF64<N> v) {
  return wasm_f64x2_extract_lane(v.raw, 0);
}

template <size_t N>
HWY_API VecF64<N> operator+(VecF64<N> a, VecF64<N> b) {
  return {wasm_f64x2_add(a.raw, b.raw)};
}
template <size_t N>
HWY_API VecF64<N> operator-(VecF64<N> a, VecF64<N> b) {
  return {wasm_f64x2_sub(a.raw, b.raw)};
}
template <size_t N>
HWY_API VecF64<N> operator*(VecF64<N> a, VecF64<N> b) {
  return {wasm_f64x2_mul(a.raw, b.raw)};
}
template <size_t N>
HWY_API VecF64<N> operator/(VecF64<N> a, VecF64<N> b) {
  return {wasm_f64x2_div(a.raw, b.raw)};
}
template <size_t N>
HWY_API VecF64<N> MulAdd(VecF64<N> mul, VecF64<N> x, VecF64<N> add) {
  return mul * x + add;
}
template <size_t N>
HWY_API VecF64<N> NegMulAdd(VecF64<N> mul, VecF64<N> x, VecF64<N> add) {
  return add - mul * x;
}

template <size_t N>
HWY_API VecF64<N> Abs(VecF64<N> v) {
  return {wasm_f64x2_abs(v.raw)};
}
template <size_t N>
HWY_API VecF64<N> Sqrt(VecF64<N> v) {
  return {wasm_f64x2_sqrt(v.raw)};
}
template <size_t N>
HWY_API VecF64<N> Floor(VecF64<N> v) {
  return {wasm_f64x2_floor(v.raw)};
}
template <size_t N>
HWY_API VecF64<N> Ceil(VecF64<N> v) {
  return {wasm_f64x2_ceil(v.raw)};
}
template <size_t N>
HWY_API VecF64<N> Round(VecF64<N> v) {
  return {wasm_f64x2_nearest(v.raw)};
}
// Min and Max return their second operand for NaN, as for f32.
template <size_t N>
HWY_API VecF64<N> Min(VecF64<N> a, VecF64<N> b) {
  return {wasm_f64x2_pmin(b.raw, a.raw)};
}
template <size_t N>
HWY_API VecF64<N> Max(VecF64<N> a, VecF64<N> b) {
  return {wasm_f64x2_pmax(b.raw, a.raw)};
}

template <size_t N>
HWY_API MaskF64<N> operator==(VecF64<N> a, VecF64<N> b) {
  return {wasm_f64x2_eq(a.raw, b.raw)};
}
template <size_t N>
HWY_API MaskF64<N> operator!=(VecF64<N> a, VecF64<N> b) {
  return {wasm_f64x2_ne(a.raw, b.raw)};
}
template <size_t N>
HWY_API MaskF64<N> operator>(VecF64<N> a, VecF64<N> b) {
  return {wasm_f64x2_gt(a.raw, b.raw)};
}
template <size_t N>
HWY_API MaskF64<N> operator<(VecF64<N> a, VecF64<N> b) {
  return {wasm_f64x2_lt(a.raw, b.raw)};
}
template <size_t N>
HWY_API MaskF64<N> operator>=(VecF64<N> a, VecF64<N> b) {
  return {wasm_f64x2_ge(a.raw, b.raw)};
}
template <size_t N>
HWY_API MaskF64<N> operator<=(VecF64<N> a, VecF64<N> b) {
  return {wasm_f64x2_le(a.raw, b.raw)};
}

template <size_t N>
HWY_API VecF64<N> PromoteTo(Simd<double, N, 0>, Vec128<float, N> v) {
  return {wasm_f64x2_promote_low_f32x4(v.raw)};
}
template <size_t N>
HWY_API Vec128<float, N> DemoteTo(Simd<float, N, 0>, VecF64<N> v) {
  return {wasm_f32x4_demote_f64x2_zero(v.raw)};
}

// <hwy/contrib/math> leaves out f64 where vectors of it are missing; the C library takes the lanes one by one.
template <size_t N>
HWY_API VecF64<N> Exp(Simd<double, N, 0>, VecF64<N> v) {
  return {wasm_f64x2_make(std::exp(wasm_f64x2_extract_lane(v.raw, 0)), std::exp(wasm_f64x2_extract_lane(v.raw, 1)))};
}
template <size_t N>
HWY_API VecF64<N> Log(Simd<double, N, 0>, VecF64<N> v) {
  return {wasm_f64x2_make(std::log(wasm_f64x2_extract_lane(v.raw, 0)), std::log(wasm_f64x2_extract_lane(v.raw, 1)))};
}

}  // namespace hwy::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // HWY_TARGET == HWY_WASM && !HWY_HAVE_FLOAT64
#endif
