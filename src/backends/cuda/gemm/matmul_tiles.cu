#include "backends/cuda/gemm/matmul_plan.h"
#include "backends/cuda/gemm/mma_tiles.cuh"
#include "backends/cuda/runtime/launch.cuh"

namespace wick::cuda {
namespace {

using SmallTile = Tile<16, 64, 1, 4, 6>;
using MiddleTile = Tile<64, 64, 2, 2, 4>;
using LargeTile = Tile<128, 128, 2, 4, 4>;

struct TileJob {
  const void *x, *w;
  void* out;
  float* partial;  // [kParts, m, n] when each part of k has its own blocks; null: a block adds up all of them
  const float *bias, *residual;
  int64_t m, n, k, ld;
  bool out_f32;
};

template <typename T>
__device__ __forceinline__ void finish(const TileJob& job, int64_t row, int64_t col, float sum) {
  const int64_t at = row * job.n + col;
  if (job.bias) sum += job.bias[col];
  if (job.residual) sum += job.residual[at];
  if (job.out_f32) {
    static_cast<float*>(job.out)[at] = sum;
  } else {
    static_cast<T*>(job.out)[at] = to<T>(sum);
  }
}

// Copies kRows rows of 64 columns.
template <typename T, int kRows, int kThreadCount>
__device__ __forceinline__ void start_rows(uint32_t place, const T* from, int64_t rows, int64_t first_row, int64_t ld,
                                           int64_t column, int64_t end) {
#pragma unroll
  for (int i = threadIdx.x; i < kRows * 8; i += kThreadCount) {
    const int row = i / 8, chunk = i % 8;
    const bool valid = first_row + row < rows && column + chunk * 8 < end;
    const T* source = valid ? from + (first_row + row) * ld + column + chunk * 8 : from;
    copy_async(place + chunk_place(i), source, valid);
  }
}

template <typename T, typename Shape>
__global__ void __launch_bounds__(Shape::threads) tile_kernel(const __grid_constant__ TileJob job) {
  extern __shared__ __align__(128) char memory[];
  const uint32_t base = shared_address(memory);
  const int64_t first_m = int64_t{blockIdx.x} * Shape::m, first_n = int64_t{blockIdx.y} * Shape::n;
  const int64_t part = part_size(job.k);
  const int64_t begin = job.partial ? min(job.k, blockIdx.z * part) : 0;
  const int64_t end = job.partial ? min(job.k, begin + part) : job.k;
  const int stages = static_cast<int>((end - begin + kTileDepth - 1) / kTileDepth);
  const int per_part = static_cast<int>(part / kTileDepth);
  const auto* x = static_cast<const T*>(job.x);
  const auto* w = static_cast<const T*>(job.w);
  const auto start_stage = [&](int stage) {
    if (stage < stages) {
      const uint32_t place = base + static_cast<uint32_t>(stage % Shape::stages * Shape::stage_bytes);
      const int64_t column = begin + stage * kTileDepth;
      start_rows<T, Shape::m, Shape::threads>(place, x, job.m, first_m, job.k, column, end);
      start_rows<T, Shape::n, Shape::threads>(place + Shape::m * 128, w, job.n, first_n, job.ld, column, end);
    }
    commit_copies();
  };
  TileSums<T, Shape> sums;
  sums.add_up(base, stages, per_part, start_stage);
#pragma unroll
  for (int i = 0; i < Shape::mma_m; ++i) {
#pragma unroll
    for (int j = 0; j < Shape::mma_n; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int64_t row = first_m + sums.row(i, e), col = first_n + sums.column(j, e);
        if (row >= job.m || col >= job.n) continue;
        if (job.partial) {
          job.partial[(blockIdx.z * job.m + row) * job.n + col] = sums.totals[i][j][e];
        } else {
          finish<T>(job, row, col, sums.totals[i][j][e]);
        }
      }
    }
  }
}

// The parts of k in order.
template <typename T>
__global__ void __launch_bounds__(kThreads) add_parts_kernel(const __grid_constant__ TileJob job) {
  const int64_t count = job.m * job.n;
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < count; i += int64_t{gridDim.x} * kThreads) {
    float total = 0;
#pragma unroll
    for (int part = 0; part < kParts; ++part) total += job.partial[part * count + i];
    finish<T>(job, i / job.n, i % job.n, total);
  }
}

template <typename T, typename Shape>
void launch_tiles(Device device, TileJob job, bool split) {
  const Runtime& use = runtime(device);
  allow_shared<tile_kernel<T, Shape>>(device, Shape::bytes);
  const dim3 grid(blocks_for(job.m, Shape::m), blocks_for(job.n, Shape::n), split ? kParts : 1);
  const Scratch partial(device, split ? static_cast<size_t>(kParts * job.m * job.n) * sizeof(float) : 0);
  job.partial = split ? partial.as<float>() : nullptr;
  tile_kernel<T, Shape><<<grid, Shape::threads, Shape::bytes, use.stream>>>(job);
  check_launch(device, "matmul");
  if (!split) return;
  add_parts_kernel<T><<<blocks_for(job.m * job.n), kThreads, 0, use.stream>>>(job);
  check_launch(device, "matmul");
}

template <typename T>
void multiply(Device device, const TileJob& job) {
  const int64_t tiles = ((job.m + 127) / 128) * ((job.n + 127) / 128);
  if (job.m <= 16) {
    launch_tiles<T, SmallTile>(device, job, true);
  } else if (job.m <= 64) {
    launch_tiles<T, MiddleTile>(device, job, true);
  } else {
    launch_tiles<T, LargeTile>(device, job, tiles < runtime(device).multiprocessors);
  }
}

}  // namespace

void multiply_tiles(Device device, const WeightPlan& plan) {
  for (int i = 0; i < plan.count; ++i) {
    const WeightJob& weights = plan.jobs[i];
    const TileJob job{plan.x,
                      weights.weights,
                      weights.out,
                      nullptr,
                      weights.bias,
                      weights.residual,
                      plan.m,
                      weights.n,
                      plan.k,
                      plan.ld,
                      plan.out_dtype == DType::kF32};
    plan.dtype == DType::kF16 ? multiply<__half>(device, job) : multiply<__nv_bfloat16>(device, job);
  }
}

}  // namespace wick::cuda
