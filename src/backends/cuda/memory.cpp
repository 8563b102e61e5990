#include <cuda_runtime_api.h>

#include "backends/cuda/check.h"
#include "base/error.h"
#include "base/text.h"
#include "tensor/device.h"

namespace wick {
namespace {

void* allocate(Device device, size_t bytes) {
  cuda::select(device);
  void* data = nullptr;
  if (bytes == 0) return data;
  const cudaError_t result = cudaMalloc(&data, bytes);
  if (result == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // clears it
    throw Error(ErrorCode::kOutOfMemory, cat("out of memory: ", bytes, " bytes on ", device));
  }
  cuda::check(result, device, "allocate");
  return data;
}

// Runs in destructors, so it cannot throw. CUDA reports a device that broke at the next call that can.
void release(Device device, void* data, size_t) {
  if (!data || cudaSetDevice(device.index()) != cudaSuccess) return;
  (void)cudaFree(data);
}

void copy(Device device, void* to, const void* from, size_t bytes, cudaMemcpyKind kind, const char* what) {
  if (bytes == 0) return;
  cuda::select(device);
  cuda::check(cudaMemcpy(to, from, bytes, kind), device, what);
}

void copy_from_host(Device device, void* to, const void* from, size_t bytes) {
  copy(device, to, from, bytes, cudaMemcpyHostToDevice, "copy from host");
}

void copy_to_host(Device device, void* to, const void* from, size_t bytes) {
  copy(device, to, from, bytes, cudaMemcpyDeviceToHost, "copy to host");
}

void copy_within(Device device, void* to, const void* from, size_t bytes) {
  copy(device, to, from, bytes, cudaMemcpyDeviceToDevice, "copy within device");
}

}  // namespace

const DeviceMemory& cuda_memory() {
  static constexpr DeviceMemory kMemory = {allocate, release, copy_from_host, copy_to_host, copy_within};
  return kMemory;
}

}  // namespace wick
