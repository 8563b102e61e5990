#include "backends/cuda/runtime/kernels.h"

namespace wick {

const KernelTable& cuda_kernels() {
  static constexpr KernelTable kTable = {
#define WICK_KERNEL(name) .name = cuda::name,
#define WICK_DEVICE_KERNEL WICK_KERNEL
#include "ops/kernel_names.inc"
#undef WICK_DEVICE_KERNEL
#undef WICK_KERNEL
  };
  return kTable;
}

}  // namespace wick
