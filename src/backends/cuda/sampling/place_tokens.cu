#include "backends/cuda/runtime/dependent_launch.cuh"
#include "backends/cuda/runtime/kernels.h"

namespace wick::cuda {
namespace {

__global__ void place_kernel(const int32_t* drawn, int64_t* ids, int64_t count) {
  launch_dependents();
  wait_for_prerequisites();
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < count) ids[i] = max(drawn[i], 0);
}

}  // namespace

void place_tokens(const Tensor& drawn, const Tensor& ids) {
  const int64_t count = drawn.numel();
  launch_dependent(drawn.device(), "place_tokens", place_kernel, blocks_for(count), kThreads, 0,
                   data_of<const int32_t>(drawn), data_of<int64_t>(ids), count);
}

}  // namespace wick::cuda
