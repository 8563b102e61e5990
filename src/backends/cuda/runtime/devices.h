#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace wick {

struct CudaDeviceInfo {
  std::string name;
  int64_t memory_total = 0, memory_free = 0;  // bytes
  int major = 0, minor = 0;                   // compute capability
};

struct CudaDevices {
  std::vector<CudaDeviceInfo> devices;
  std::string problem;  // why there are none, in one sentence; empty when there are some
};

// Never throws for a missing driver or device: that is a finding. Throws Error(kDevice) when a device that is there
// does not answer.
CudaDevices list_cuda_devices();

}  // namespace wick
