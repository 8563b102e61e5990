#include "ops/recurrent_kernels.h"

namespace wick {

#if WICK_CUDA
const RecurrentKernels& cuda_recurrent_kernels();  // backends/cuda/recurrent.cu
#endif

const RecurrentKernels* recurrent_kernels([[maybe_unused]] Device device) {
#if WICK_CUDA
  if (device.kind() == DeviceKind::kCuda) return &cuda_recurrent_kernels();
#endif
  return nullptr;
}

}  // namespace wick
