#include "ops/kernel_table.h"

#include "base/error.h"
#include "base/text.h"

namespace wick {

const KernelTable& Device::kernels() const {
  switch (kind_) {
    case DeviceKind::kCpu: return cpu_kernels();
    case DeviceKind::kReference: return reference_kernels();
    case DeviceKind::kCuda:
#if WICK_CUDA
      return cuda_kernels();
#else
      break;
#endif
  }
  throw Error(ErrorCode::kUnsupported, cat("device ", *this, ": this build of Wick has no kernels for it"));
}

}  // namespace wick
