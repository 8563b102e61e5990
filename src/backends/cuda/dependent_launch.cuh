#pragma once

#include "backends/cuda/launch.cuh"

// Kernels that start while the one before them still runs (from compute capability 9.0 on): each lets its successor
// start early and waits for its predecessor before it reads or writes what others do. What lies before the wait, such
// as fetching weights, is hidden behind the predecessor.
namespace wick::cuda {

// Everything that was started before has been done and can be seen.
__device__ __forceinline__ void wait_for_previous() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

__device__ __forceinline__ void let_next_start() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

template <typename... Parameters, typename... Arguments>
void launch_dependent(Device device, const char* what, void (*kernel)(Parameters...), dim3 grid, unsigned threads,
                      size_t shared, const Arguments&... arguments) {
  const Runtime& use = runtime(device);
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared;
  config.stream = use.stream;
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &early;
  config.numAttrs = use.major >= 9 ? 1 : 0;
  check(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...), device, what);
}

}  // namespace wick::cuda
