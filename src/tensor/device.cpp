#include "tensor/device.h"

#include "base/error.h"
#include "base/text.h"

namespace wick {

#if WICK_CUDA
const DeviceMemory& cuda_memory();  // backends/cuda/memory.cpp
#endif

std::string to_string(Device device) {
  switch (device.kind()) {
    case DeviceKind::kCpu: return "cpu";
    case DeviceKind::kReference: return "reference";
    case DeviceKind::kCuda: return cat("cuda:", device.index());
  }
  return "unknown";
}

const DeviceMemory& device_memory(Device device) {
#if WICK_CUDA
  if (device.kind() == DeviceKind::kCuda) return cuda_memory();
#endif
  throw Error(ErrorCode::kUnsupported, cat("device ", device, ": this build of Wick has no memory for it"));
}

}  // namespace wick
