#pragma once

#include <cuda_runtime_api.h>

#include "base/error.h"
#include "base/text.h"
#include "tensor/device.h"

namespace wick::cuda {

// Throws Error with CUDA's own text unless the call succeeded: "cuda:0: copy to host: invalid argument".
inline void check(cudaError_t result, Device device, const char* what) {
  if (result == cudaSuccess) return;
  cudaGetLastError();  // clears it, so that the next call does not report it again
  const auto code = result == cudaErrorMemoryAllocation ? ErrorCode::kOutOfMemory : ErrorCode::kDevice;
  throw Error(code, cat(device, ": ", what, ": ", cudaGetErrorString(result)));
}

// Whether the kernel just started could be started. What goes wrong while it runs is reported by the next call that
// waits for the device.
inline void check_launch(Device device, const char* kernel) { check(cudaGetLastError(), device, kernel); }

inline void select(Device device) { check(cudaSetDevice(device.index()), device, "select device"); }

}  // namespace wick::cuda
