#include "backends/cpu/kernels.h"

namespace wick {

const KernelTable& cpu_kernels() {
  static constexpr KernelTable kTable = {
#define WICK_KERNEL(name) .name = cpu::name,
#include "ops/kernel_names.inc"
#undef WICK_KERNEL
  };
  return kTable;
}

}  // namespace wick
