// Kernels for the formats with blocks of 256 weights and integer scales inside.
#define HWY_WANT_AVX3_DL 1
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/quant/matmul_packed256.cpp"
#include "hwy/foreach_target.h"
// After foreach_target: compiled once per target.
#include "backends/cpu/quant/packed_kernel256-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick::HWY_NAMESPACE {

#if WICK_PACKED_SIMD
template <class Format>
cpu::PackedKernels Kernels256() {
  return {256, 6, Few256<Format>, Many256<Format>};
}
#endif

cpu::PackedKernels ChooseKernels256(DType dtype) {
#if WICK_PACKED_SIMD
  switch (dtype) {
    case DType::kQ2_K: return Kernels256<Q2_KRows>();
    case DType::kQ3_K: return Kernels256<Q3_KRows>();
    case DType::kQ4_K: return Kernels256<Q4_KRows>();
    case DType::kQ5_K: return Kernels256<Q5_KRows>();
    case DType::kQ6_K: return Kernels256<Q6_KRows>();
    case DType::kIQ4_XS: return Kernels256<Iq4XsRows>();
    default: break;
  }
#endif
  (void)dtype;
  return {};
}

}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick::cpu {

HWY_EXPORT(ChooseKernels256);
PackedKernels packed_kernels256(DType dtype) { return HWY_DYNAMIC_DISPATCH(ChooseKernels256)(dtype); }

}  // namespace wick::cpu
#endif
