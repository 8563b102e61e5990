#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/runtime.h"
#include "backends/cuda/runtime/types.cuh"
#include "tensor/tensor.h"

namespace wick::cuda {

inline constexpr int kThreads = 256;

template <typename T>
T* data_of(const Tensor& x) {
  return reinterpret_cast<T*>(x.raw());
}
template <typename T>
T* data_or_null(const Tensor& x) {
  return x.defined() ? data_of<T>(x) : nullptr;
}

inline unsigned blocks_for(int64_t count, int64_t per_block = kThreads) {
  return static_cast<unsigned>(std::clamp<int64_t>((count + per_block - 1) / per_block, 1, int64_t{1} << 30));
}

// LoopNest for kernels: where element `index` of the merged loops lies in each operand.
template <int kOperands>
struct Walk {
  int rank = 0;
  int64_t total = 1;
  int64_t sizes[kMaxRank] = {};
  int64_t strides[kOperands][kMaxRank] = {};

  __device__ __forceinline__ void offsets(int64_t index, int64_t (&result)[kOperands]) const {
#pragma unroll
    for (int o = 0; o < kOperands; ++o) result[o] = 0;
    if (total <= 0x7fffffff) {  // 64-bit division is slow
      auto rest = static_cast<uint32_t>(index);
      for (int d = rank - 1; d >= 0; --d) {
        const auto size = static_cast<uint32_t>(sizes[d]);
        const uint32_t next = d ? rest / size : 0, at = rest - next * size;
        rest = next;
#pragma unroll
        for (int o = 0; o < kOperands; ++o) result[o] += static_cast<int64_t>(at) * strides[o][d];
      }
      return;
    }
    for (int d = rank - 1; d >= 0; --d) {
      const int64_t next = d ? index / sizes[d] : 0, at = index - next * sizes[d];
      index = next;
#pragma unroll
      for (int o = 0; o < kOperands; ++o) result[o] += at * strides[o][d];
    }
  }
};

template <int kOperands>
Walk<kOperands> make_walk(const Shape& shape, const std::array<Strides, kOperands>& strides) {
  const LoopNest<kOperands> nest = merge_loops<kOperands>(shape, strides);
  Walk<kOperands> walk;
  walk.rank = nest.rank;
  walk.total = shape.numel();
  for (int d = 0; d < nest.rank; ++d) {
    walk.sizes[d] = nest.sizes[d];
    for (int o = 0; o < kOperands; ++o) walk.strides[o][d] = nest.strides[o][d];
  }
  return walk;
}

template <int kOperands, typename Body>
__global__ void __launch_bounds__(kThreads) walk_kernel(Walk<kOperands> walk, Body body) {
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < walk.total; i += int64_t{gridDim.x} * kThreads) {
    int64_t offsets[kOperands];
    walk.offsets(i, offsets);
    body(offsets);
  }
}

// Runs body(offsets) for every element of the shape; offsets[o] is the element's place in operand o.
template <int kOperands, typename Body>
void for_each_element(Device device, const char* what, const Shape& shape,
                      const std::array<Strides, kOperands>& strides, const Body& body) {
  if (shape.numel() == 0) return;
  const Runtime& use = runtime(device);
  const Walk<kOperands> walk = make_walk<kOperands>(shape, strides);
  walk_kernel<kOperands><<<blocks_for(walk.total), kThreads, 0, use.stream>>>(walk, body);
  check_launch(device, what);
}

template <typename Body>
__global__ void __launch_bounds__(kThreads) index_kernel(int64_t count, Body body) {
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < count; i += int64_t{gridDim.x} * kThreads) {
    body(i);
  }
}

// Runs body(i) for i from 0 to count.
template <typename Body>
void for_each_index(Device device, const char* what, int64_t count, const Body& body) {
  if (count == 0) return;
  const Runtime& use = runtime(device);
  index_kernel<<<blocks_for(count), kThreads, 0, use.stream>>>(count, body);
  check_launch(device, what);
}

// Lets a kernel have `bytes` of shared memory in a block, once for each device.
template <auto kKernel>
void allow_shared(Device device, int bytes) {
  static std::array<std::atomic<int>, 256> allowed{};
  std::atomic<int>& known = allowed[static_cast<size_t>(device.index())];
  if (known.load(std::memory_order_relaxed) >= bytes) return;
  check(cudaFuncSetAttribute(kKernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), device, "shared memory");
  known.store(bytes, std::memory_order_relaxed);
}

// Four neighbours at once, for kernels over row-major tensors.
template <typename T>
struct alignas(4 * sizeof(T)) Four {
  T at[4];
};

inline bool aligned(const void* pointer, size_t bytes) { return reinterpret_cast<uintptr_t>(pointer) % bytes == 0; }

// Sums over a warp, the same in every lane and for every order of lanes.
template <typename T>
__device__ __forceinline__ T warp_sum(T value) {
#pragma unroll
  for (int step = 16; step; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  return value;
}
template <typename T>
__device__ __forceinline__ T warp_max(T value) {
#pragma unroll
  for (int step = 16; step; step /= 2) value = max(value, __shfl_xor_sync(0xffffffffu, value, step));
  return value;
}

// Combines a value of every thread of the block; all get the result. `shared` holds one value per warp.
template <typename T, typename Combine>
__device__ __forceinline__ T block_combine(T value, T* shared, T neutral, const Combine& combine) {
#pragma unroll
  for (int step = 16; step; step /= 2) value = combine(value, __shfl_xor_sync(0xffffffffu, value, step));
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
  if (warps == 1) return value;
  __syncthreads();
  if (lane == 0) shared[warp] = value;
  __syncthreads();
  value = lane < warps ? shared[lane] : neutral;
#pragma unroll
  for (int step = 16; step; step /= 2) value = combine(value, __shfl_xor_sync(0xffffffffu, value, step));
  return value;
}

// Where the lines along one dimension start in several operands of one shape.
template <int kOperands>
struct Lines {
  Walk<kOperands> walk;  // over the other dimensions
  int64_t size = 0;      // of a line
  int64_t steps[kOperands] = {};
};

template <int kOperands>
Lines<kOperands> make_lines(const Shape& shape, const std::array<Strides, kOperands>& strides, int dim) {
  Lines<kOperands> lines;
  lines.walk = make_walk<kOperands>(shape.with(dim, 1), strides);
  lines.size = shape[dim];
  for (int o = 0; o < kOperands; ++o) lines.steps[o] = strides[o][static_cast<size_t>(dim)];
  return lines;
}

}  // namespace wick::cuda
