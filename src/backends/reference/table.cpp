#include "backends/reference/kernels.h"

namespace wick {

const KernelTable& reference_kernels() {
  static constexpr KernelTable kTable = {
#define WICK_KERNEL(name) .name = reference::name,
#include "ops/kernel_names.inc"
#undef WICK_KERNEL
  };
  return kTable;
}

}  // namespace wick
