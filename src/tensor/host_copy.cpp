#include "tensor/host_copy.h"

#include "base/error.h"
#include "base/text.h"

namespace wick {

#if WICK_CUDA
std::unique_ptr<HostCopy> start_cuda_copy(Device device, const void* from,
                                          size_t bytes);  // backends/cuda/runtime/host_copy.cpp
#endif

std::unique_ptr<HostCopy> start_host_copy(const Tensor& x) {
#if WICK_CUDA
  if (x.device().kind() == DeviceKind::kCuda) {
    return start_cuda_copy(x.device(), x.raw(), static_cast<size_t>(x.numel() * size_of(x.dtype())));
  }
#endif
  throw Error(ErrorCode::kUnsupported, cat("device ", x.device(), ": this build of Wick has no copies from it"));
}

}  // namespace wick
