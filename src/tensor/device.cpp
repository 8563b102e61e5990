#include "tensor/device.h"

#include "base/error.h"
#include "base/text.h"
#include "tensor/available_memory.h"

namespace wick {

#if WICK_CUDA
const DeviceMemory& cuda_memory();  // these two: backends/cuda/runtime/memory.cpp
int64_t cuda_available_memory(Device device);
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

int64_t available_memory(Device device) {
#if WICK_CUDA
  if (device.kind() == DeviceKind::kCuda) return cuda_available_memory(device);
#endif
  throw Error(ErrorCode::kUnsupported, cat("device ", device, ": this build of Wick has no memory for it"));
}

}  // namespace wick
