#pragma once

#include "backends/cuda/gemm/hopper.cuh"

// Places in shared memory that one side fills and another empties, in turn.
namespace wick::cuda {

#if WICK_HOPPER && defined(__CUDACC__)

// A place in a ring of kCount that is filled and emptied in turn.
template <int kCount>
struct PipelineState {
  uint32_t at = 0, parity = 0;
  __device__ __forceinline__ void advance() {
    if (++at == kCount) {
      at = 0;
      parity ^= 1;
    }
  }
};

// The same in a ring whose size is known when it runs.
struct DynamicPipelineState {
  int at = 0;
  uint32_t parity = 0;
  __device__ __forceinline__ void advance(int count) {
    if (++at == count) {
      at = 0;
      parity ^= 1;
    }
  }
};

// Barriers of a ring, 8 bytes each: those that say full, then those that say empty.
template <int kCount>
struct RingBarriers {
  uint32_t first;
  __device__ __forceinline__ uint32_t full(uint32_t at) const { return first + at * 8; }
  __device__ __forceinline__ uint32_t empty(uint32_t at) const { return first + (kCount + at) * 8; }
  __device__ __forceinline__ void init(int readers) const {
    for (uint32_t i = 0; i < kCount; ++i) {
      init_barrier(full(i), 1);
      init_barrier(empty(i), readers);
    }
  }
};

#endif

}  // namespace wick::cuda
