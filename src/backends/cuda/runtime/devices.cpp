#include "backends/cuda/runtime/devices.h"

#include "backends/cuda/runtime/check.h"

namespace wick {

CudaDevices list_cuda_devices() {
  CudaDevices found;
  int count = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  if (result == cudaErrorInsufficientDriver) {
    found.problem = "the NVIDIA driver is missing or older than this build's CUDA runtime";
  } else if (result == cudaErrorNoDevice || (result == cudaSuccess && count == 0)) {
    found.problem = "no CUDA device was found";
  } else if (result != cudaSuccess) {
    found.problem = cat("CUDA does not start: ", cudaGetErrorString(result));
  }
  if (!found.problem.empty()) {
    cudaGetLastError();  // clears it
    return found;
  }
  for (int i = 0; i < count; ++i) {
    const Device device = Device::cuda(i);
    cudaDeviceProp properties{};
    cuda::check(cudaGetDeviceProperties(&properties, i), device, "read properties");
    cuda::select(device);
    size_t free_bytes = 0, total_bytes = 0;
    cuda::check(cudaMemGetInfo(&free_bytes, &total_bytes), device, "read memory size");
    found.devices.push_back({properties.name, static_cast<int64_t>(total_bytes), static_cast<int64_t>(free_bytes),
                             properties.major, properties.minor});
  }
  return found;
}

}  // namespace wick
