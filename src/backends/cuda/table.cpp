#include "backends/cuda/kernels.h"

namespace wick {

const KernelTable& cuda_kernels() {
  static constexpr KernelTable kTable = {
#define WICK_KERNEL(name) .name = cuda::name,
#include "ops/kernel_names.inc"
#undef WICK_KERNEL
  };
  return kTable;
}

const FusedKernels& cuda_fused_kernels() {
  static constexpr FusedKernels kTable = {cuda::linear, cuda::gated_linear, cuda::attend, cuda::mix_experts,
                                          cuda::draw_tokens, cuda::place_tokens};
  return kTable;
}

}  // namespace wick
