// Kernels for the formats with codebooks and the ternary ones.
#define HWY_WANT_AVX3_DL 1
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/matmul_packed_whole.cpp"
#include "hwy/foreach_target.h"
// After foreach_target: compiled once per target.
#include "backends/cpu/packed_formats_whole-inl.h"
#include "backends/cpu/packed_kernel256-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick::HWY_NAMESPACE {

#if WICK_PACKED_SIMD
template <class Block, int kGroup>
cpu::PackedKernels KernelsWhole() {
  return {256, Few256<WholeRows<Block, kGroup>>, Many256<WholeRows<Block, kGroup>>};
}
#endif

cpu::PackedKernels ChooseKernelsWhole(DType dtype) {
#if WICK_PACKED_SIMD
  switch (dtype) {
    case DType::kIQ1_S: return KernelsWhole<BlockIQ1_S, 32>();
    case DType::kIQ1_M: return KernelsWhole<BlockIQ1_M, 16>();
    case DType::kIQ2_XXS: return KernelsWhole<BlockIQ2_XXS, 32>();
    case DType::kIQ2_XS: return KernelsWhole<BlockIQ2_XS, 16>();
    case DType::kIQ2_S: return KernelsWhole<BlockIQ2_S, 16>();
    case DType::kIQ3_XXS: return KernelsWhole<BlockIQ3_XXS, 32>();
    case DType::kIQ3_S: return KernelsWhole<BlockIQ3_S, 32>();
    case DType::kTQ1_0: return KernelsWhole<BlockTQ1_0, 32>();
    case DType::kTQ2_0: return KernelsWhole<BlockTQ2_0, 32>();
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

HWY_EXPORT(ChooseKernelsWhole);
PackedKernels packed_kernels_whole(DType dtype) { return HWY_DYNAMIC_DISPATCH(ChooseKernelsWhole)(dtype); }

}  // namespace wick::cpu
#endif
