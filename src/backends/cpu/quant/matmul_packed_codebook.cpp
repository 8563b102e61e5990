// Kernels for the formats with codebooks and the ternary ones.
// These are large and rarely met: machines without AVX2 decode the weights instead, AVX-512 without its 8-bit dot
// product takes AVX2.
#define HWY_WANT_AVX3_DL 1
#if defined(__x86_64__) || defined(__i386__)
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3)
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/quant/matmul_packed_codebook.cpp"
#include "hwy/foreach_target.h"
// After foreach_target: compiled once per target.
#include "backends/cpu/quant/packed_formats_codebook-inl.h"
#include "backends/cpu/quant/packed_kernel256-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick::HWY_NAMESPACE {

#if WICK_PACKED_SIMD
template <class Format>
cpu::PackedKernels KernelsCodebook() {
  return {256, 6, Few256<Format>, Many256<Format>};
}
#endif

cpu::PackedKernels ChooseKernelsCodebook(DType dtype) {
#if WICK_PACKED_SIMD
  switch (dtype) {
    case DType::kIQ1_S: return KernelsCodebook<Iq1SRows>();
    case DType::kIQ1_M: return KernelsCodebook<Iq1MRows>();
    case DType::kIQ2_XXS: return KernelsCodebook<Iq2XxsRows>();
    case DType::kIQ2_XS: return KernelsCodebook<Iq2XsRows>();
    case DType::kIQ2_S: return KernelsCodebook<Iq2SRows>();
    case DType::kIQ3_XXS: return KernelsCodebook<Iq3XxsRows>();
    case DType::kIQ3_S: return KernelsCodebook<Iq3SRows>();
    case DType::kTQ1_0: return KernelsCodebook<Tq1Rows>();
    case DType::kTQ2_0: return KernelsCodebook<Tq2Rows>();
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

HWY_EXPORT(ChooseKernelsCodebook);
PackedKernels packed_kernels_codebook(DType dtype) { return HWY_DYNAMIC_DISPATCH(ChooseKernelsCodebook)(dtype); }

}  // namespace wick::cpu
#endif
