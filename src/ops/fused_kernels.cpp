#include "ops/fused_kernels.h"

namespace wick {

#if WICK_CUDA
const FusedKernels& cuda_fused_kernels();  // backends/cuda/table.cpp
#endif

const FusedKernels* fused_kernels([[maybe_unused]] Device device) {
#if WICK_CUDA
  if (device.kind() == DeviceKind::kCuda) return &cuda_fused_kernels();
#endif
  return nullptr;
}

}  // namespace wick
