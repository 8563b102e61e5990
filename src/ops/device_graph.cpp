#include "ops/device_graph.h"

namespace wick {

#if WICK_CUDA
std::unique_ptr<DeviceGraph> record_cuda_graph(Device device, FunctionRef<void()> body);  // backends/cuda/graph.cpp
#endif

bool has_graphs([[maybe_unused]] Device device) {
#if WICK_CUDA
  if (device.kind() == DeviceKind::kCuda) return true;
#endif
  return false;
}

std::unique_ptr<DeviceGraph> record_graph([[maybe_unused]] Device device, [[maybe_unused]] FunctionRef<void()> body) {
#if WICK_CUDA
  if (device.kind() == DeviceKind::kCuda) return record_cuda_graph(device, body);
#endif
  return nullptr;
}

}  // namespace wick
