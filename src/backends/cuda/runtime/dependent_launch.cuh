#pragma once

#include "backends/cuda/runtime/launch.cuh"

// Programmatic dependent launch (from compute capability 9.0 on): a kernel starts while the one before it, its
// prerequisite, still runs, and waits for it before it reads or writes what others do. What lies before the wait, such
// as fetching weights, is hidden behind the prerequisite.
namespace wick::cuda {

// Everything that was started before has been done and can be seen.
__device__ __forceinline__ void wait_for_prerequisites() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

__device__ __forceinline__ void launch_dependents() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

// Blocks of the grid in clusters of `cluster` (more than 1 only from compute capability 9.0 on).
template <typename... Parameters, typename... Arguments>
void launch_clusters(Device device, const char* what, void (*kernel)(Parameters...), dim3 grid, unsigned cluster,
                     unsigned threads, size_t shared, const Arguments&... arguments) {
  const Runtime& use = runtime(device);
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared;
  config.stream = use.stream;
  cudaLaunchAttribute attributes[2]{};
  config.attrs = attributes;
  if (use.has_dependent_launch) {
    cudaLaunchAttribute& early = attributes[config.numAttrs++];
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
  }
  if (cluster > 1) {
    cudaLaunchAttribute& together = attributes[config.numAttrs++];
    together.id = cudaLaunchAttributeClusterDimension;
    together.val.clusterDim.x = cluster;
    together.val.clusterDim.y = together.val.clusterDim.z = 1;
  }
  check(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...), device, what);
}

template <typename... Parameters, typename... Arguments>
void launch_dependent(Device device, const char* what, void (*kernel)(Parameters...), dim3 grid, unsigned threads,
                      size_t shared, const Arguments&... arguments) {
  launch_clusters(device, what, kernel, grid, 1, threads, shared, arguments...);
}

}  // namespace wick::cuda
