#pragma once

#include "backends/cuda/gemm/hopper.cuh"

namespace wick::cuda {

// Blocks that work on one thing together: a cluster, or one block alone on devices without clusters. All of them hold
// the same things in shared memory at the same places.
template <int kBlocks>
struct BlockCluster {
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
  // The same for four floats, by their address in shared memory; of clusters only.
  __device__ static __forceinline__ float4 read_four(uint32_t address, uint32_t rank) {
    static_assert(kBlocks > 1);
    float4 four{};
#if WICK_HOPPER
    asm volatile("ld.shared::cluster.v4.f32 {%0,%1,%2,%3}, [%4];"
                 : "=f"(four.x), "=f"(four.y), "=f"(four.z), "=f"(four.w)
                 : "r"(in_block(address, rank))
                 : "memory");
#endif
    return four;
  }
};

}  // namespace wick::cuda
