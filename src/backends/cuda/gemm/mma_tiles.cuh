#pragma once

#include "backends/cuda/gemm/mma.cuh"

// Tiles of products on the tensor cores of sm_80: how warps share them out, and their steps.
namespace wick::cuda {

inline constexpr int kTileDepth = 64;  // columns of k in a stage

// How a block of warps shares out a tile of kM x kN results.
template <int kM, int kN, int kWarpsM, int kWarpsN, int kStageCount>
struct Tile {
  static constexpr int m = kM, n = kN, stages = kStageCount;
  static constexpr int warps_n = kWarpsN, threads = kWarpsM * kWarpsN * 32;
  static constexpr int warp_m = kM / kWarpsM, warp_n = kN / kWarpsN;
  static constexpr int mma_m = warp_m / 16, mma_n = warp_n / 8;
  static constexpr int stage_bytes = (kM + kN) * kTileDepth * 2;
  static constexpr int bytes = stages * stage_bytes;
};

// Where chunk i of 16 bytes of a side's rows of 64 columns goes: chunks are turned by the row so that load_matrices
// meets each bank once.
__device__ __forceinline__ uint32_t chunk_place(int i) {
  const int row = i / 8, chunk = i % 8;
  return static_cast<uint32_t>(row * 128 + (chunk ^ (row & 7)) * 16);
}

// A warp's sums of a tile, part by part of k.
template <typename T, typename Shape>
struct TileSums {
  float sums[Shape::mma_m][Shape::mma_n][4] = {}, totals[Shape::mma_m][Shape::mma_n][4] = {};

  // All stages of k, `per_part` of them to a part. start(stage) starts its copies, or none behind the last, and
  // commits.
  template <typename Start>
  __device__ __forceinline__ void add_up(uint32_t ring, int stages, int per_part, const Start& start) {
    for (int stage = 0; stage < Shape::stages - 1; ++stage) start(stage);
    for (int stage = 0; stage < stages; ++stage) {
      wait_copies<Shape::stages - 2>();
      __syncthreads();
      start(stage + Shape::stages - 1);
      multiply(ring + static_cast<uint32_t>(stage % Shape::stages * Shape::stage_bytes));
      if ((stage + 1) % per_part == 0 || stage + 1 == stages) finish_part();
    }
  }
  // The products of a stage that lies at `place`: the left side's rows, then the right side's.
  __device__ __forceinline__ void multiply(uint32_t place) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int row0 = warp / Shape::warps_n * Shape::warp_m, col0 = warp % Shape::warps_n * Shape::warp_n;
    const uint32_t right = place + Shape::m * 128;
#pragma unroll
    for (int step = 0; step < kTileDepth / 16; ++step) {
      uint32_t a[Shape::mma_m][4], b[Shape::mma_n / 2][4];
#pragma unroll
      for (int i = 0; i < Shape::mma_m; ++i) {  // matrices: rows 0-7 and 8-15, then the same 8 columns on
        load_matrices(a[i], place + chunk_place((row0 + i * 16 + lane % 16) * 8 + step * 2 + lane / 16));
      }
#pragma unroll
      for (int j = 0; j < Shape::mma_n / 2; ++j) {  // matrices: 8 rows, the same 8 columns on, the next 8 rows
        const int row = col0 + j * 16 + lane / 16 * 8 + lane % 8;
        load_matrices(b[j], right + chunk_place(row * 8 + step * 2 + lane / 8 % 2));
      }
#pragma unroll
      for (int i = 0; i < Shape::mma_m; ++i) {
#pragma unroll
        for (int j = 0; j < Shape::mma_n; ++j) mma<T>(sums[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
      }
    }
  }
  __device__ __forceinline__ void finish_part() {
#pragma unroll
    for (int i = 0; i < Shape::mma_m; ++i) {
#pragma unroll
      for (int j = 0; j < Shape::mma_n; ++j) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          totals[i][j][e] += sums[i][j][e];
          sums[i][j][e] = 0;
        }
      }
    }
  }
  // Of element (i, j, e) within the tile.
  static __device__ __forceinline__ int row(int i, int e) {
    return static_cast<int>(threadIdx.x / 32) / Shape::warps_n * Shape::warp_m + i * 16 +
           static_cast<int>(threadIdx.x % 32) / 4 + e / 2 * 8;
  }
  static __device__ __forceinline__ int column(int j, int e) {
    return static_cast<int>(threadIdx.x / 32) % Shape::warps_n * Shape::warp_n + j * 8 +
           static_cast<int>(threadIdx.x % 4) * 2 + e % 2;
  }
};

}  // namespace wick::cuda
