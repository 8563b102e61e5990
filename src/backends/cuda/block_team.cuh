#pragma once

#include "backends/cuda/hopper.cuh"

namespace wick::cuda {

// Blocks that work on one thing together: a cluster, or one block alone on devices without clusters. All of them hold
// the same things in shared memory at the same places.
template <int kBlocks>
struct BlockTeam {
  __device__ static __forceinline__ int rank() {
#if WICK_HOPPER
    if constexpr (kBlocks > 1) return static_cast<int>(cluster_rank());
#endif
    return 0;
  }
  __device__ static __forceinline__ void sync() {
#if WICK_HOPPER
    if constexpr (kBlocks > 1) return sync_cluster();
#endif
    __syncthreads();
  }
  // What the block of that rank holds where `place` is here.
  __device__ static __forceinline__ uint64_t read(const uint64_t* place, int rank) {
#if WICK_HOPPER
    if constexpr (kBlocks > 1) {
      uint64_t value = 0;
      const uint32_t there = in_block(shared_address(place), static_cast<uint32_t>(rank));
      asm volatile("ld.shared::cluster.u64 %0, [%1];" : "=l"(value) : "r"(there) : "memory");
      return value;
    }
#endif
    return *place;
  }
};

}  // namespace wick::cuda
