// Kernels for the formats with 32 weights per scale.
#define HWY_WANT_AVX3_DL 1
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/quant/matmul_packed32.cpp"
#include "hwy/foreach_target.h"
// After foreach_target: compiled once per target.
#include "backends/cpu/quant/packed_formats32-inl.h"
#include "backends/cpu/quant/packed_kernel32-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick::HWY_NAMESPACE {

#if WICK_PACKED_SIMD
template <class Format>
cpu::PackedKernels Kernels32() {
  return {32, 6, Few32<Format>, Many32<Format>};
}
#endif

cpu::PackedKernels ChooseKernels32(DType dtype) {
#if WICK_PACKED_SIMD
  switch (dtype) {
    case DType::kQ4_0: return Kernels32<Q4_0Rows>();
    case DType::kQ4_1: return Kernels32<Q4_1Rows>();
    case DType::kQ5_0: return Kernels32<Q5_0Rows>();
    case DType::kQ5_1: return Kernels32<Q5_1Rows>();
    case DType::kQ8_0: return Kernels32<Q8_0Rows>();
    case DType::kIQ4_NL: return Kernels32<Iq4NlRows>();
    case DType::kMXFP4: return Kernels32<Mxfp4Rows>();
    case DType::kI8Channel: return Kernels32<I8ChannelRows>();
    case DType::kGroup4: return Kernels32<Group4Rows>();
    case DType::kGroup8: return Kernels32<Group8Rows>();
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

HWY_EXPORT(ChooseKernels32);
PackedKernels packed_kernels32(DType dtype) { return HWY_DYNAMIC_DISPATCH(ChooseKernels32)(dtype); }

}  // namespace wick::cpu
#endif
