#include "backends/cuda/dependent_launch.cuh"
#include "backends/cuda/input_rows.cuh"
#include "backends/cuda/launch.cuh"
#include "backends/cuda/matmul_plan.h"
#include "backends/cuda/mma.cuh"

namespace wick::cuda {
namespace {

constexpr int kWarps = kParts, kRows = 8, kStages = 10;  // weights' rows of a tile; pieces of 64 columns under way
constexpr int kStageBytes = kRows * 128, kRingBytes = kWarps * kStages * kStageBytes;
constexpr int kMostTokens = 8;
constexpr int kPartialFloats = kWarps * kMostTokens * kRows;
constexpr int kPad = 8;  // elements between rows of x, so that eight of them lie in different banks
// One block to a multiprocessor, of less than half its memory: the next kernel's fits beside it and fetches its weights.
constexpr int kBlocksPerProcessor = 1;
static_assert(kWarps * 32 == kThreads);

template <typename X>
__device__ __forceinline__ void store_sum(const WeightJob& job, int64_t token, int64_t row, float sum) {
  const int64_t at = token * job.n + row;
  if (job.bias) sum += job.bias[row];
  if (job.residual) sum += job.residual[at];
  static_cast<X*>(job.out)[at] = to<X>(sum);
}

// Which rows of which weights a tile is.
struct TilePlace {
  int job;
  int64_t first_row;
};
__device__ __forceinline__ TilePlace place_of(const WeightPlan& plan, int64_t tile) {
  int job = 0;
  for (; job + 1 < plan.count; ++job) {
    const int64_t tiles = (plan.jobs[job].n + kRows - 1) / kRows;
    if (tile < tiles) break;
    tile -= tiles;
  }
  return {job, tile * kRows};
}

// Up to 8 rows of x against all weights, 8 rows of those at a time. Each warp takes one part of k and streams its
// weights through shared memory with its own copies, from tile to tile without a break; they are on their way before x
// is read.
template <typename T, typename X>
__global__ void __launch_bounds__(kThreads, 2)
    few_rows_kernel(const __grid_constant__ WeightPlan plan, int64_t tiles) {
  extern __shared__ __align__(128) char memory[];
  __shared__ float reduced[32];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const auto k = static_cast<int>(plan.k), m = static_cast<int>(plan.m);
  const int part = static_cast<int>(part_size(k)), begin = min(k, warp * part), end = min(k, begin + part);
  const int stages = (end - begin + 63) / 64;
  const int my_tiles = static_cast<int>((tiles - blockIdx.x + gridDim.x - 1) / gridDim.x);

  // This lane copies 16 bytes of rows r and r + 4 at column chunk c of 8 elements, chunks turned by the row so that
  // load_matrices meets each bank once.
  const int r = lane / 8, c = lane % 8;
  const uint32_t ring = shared_address(memory) + static_cast<uint32_t>(warp * kStages * kStageBytes);
  const uint32_t upper_place = ring + static_cast<uint32_t>(r * 128 + (c ^ r) * 16);
  const uint32_t lower_place = ring + static_cast<uint32_t>((r + 4) * 128 + (c ^ (r + 4)) * 16);
  const T *upper = nullptr, *lower = nullptr;
  int next_tile = 0, next_stage = 0, next_slot = 0;
  const auto start_next = [&] {
    if (stages > 0 && next_tile < my_tiles) {
      if (next_stage == 0) {
        const TilePlace place = place_of(plan, blockIdx.x + int64_t{next_tile} * gridDim.x);
        const WeightJob& job = plan.jobs[place.job];
        const auto* weights = static_cast<const T*>(job.weights);
        upper = weights + min(place.first_row + r, job.n - 1) * plan.ld;
        lower = weights + min(place.first_row + r + 4, job.n - 1) * plan.ld;
      }
      const int column = begin + next_stage * 64 + c * 8;
      const bool valid = column < end;
      const int source = valid ? column : 0;
      const auto slot = static_cast<uint32_t>(next_slot * kStageBytes);
      copy_async(upper_place + slot, upper + source, valid);
      copy_async(lower_place + slot, lower + source, valid);
      if (++next_stage == stages) {
        next_stage = 0;
        ++next_tile;
      }
      if (++next_slot == kStages) next_slot = 0;
    }
    commit_copies();
  };
  let_next_start();
  if (!plan.steady) wait_for_previous();
  for (int i = 0; i < kStages - 1; ++i) start_next();
  if (plan.steady) wait_for_previous();

  // x in the weights' dtype, [m, pitch].
  auto* x = reinterpret_cast<uint32_t*>(memory + kRingBytes + 2 * kPartialFloats * sizeof(float));
  const int pitch = (k + 63) / 64 * 64 + kPad;
  for (int token = 0; token < m; ++token) {
    const InputRow<X> row(plan, token, reduced);
    for (int i = threadIdx.x * 4; i < pitch - kPad; i += kThreads * 4) {
      const float4 four = i < k ? row.four(i) : float4{0, 0, 0, 0};
      x[(token * pitch + i) / 2] = round_pair<T>(four.x, four.y);
      x[(token * pitch + i) / 2 + 1] = round_pair<T>(four.z, four.w);
    }
  }
  __syncthreads();

  const int g = lane / 4, t = lane % 4;
  const uint32_t* x_row = x + (g < m ? g : 0) * pitch / 2 + t;
  const uint32_t matrix_row = static_cast<uint32_t>(lane % 8 * 128);
  int slot = 0;
  for (int tile = 0; tile < my_tiles; ++tile) {
    float sum[4] = {};
    for (int stage = 0; stage < stages; ++stage) {
      wait_copies<kStages - 2>();
      __syncwarp();
      start_next();
      const uint32_t place = ring + static_cast<uint32_t>(slot * kStageBytes) + matrix_row;
      if (++slot == kStages) slot = 0;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        uint32_t w[4];
        const int chunk = half * 4 + lane / 8;
        load_matrices(w, place + static_cast<uint32_t>((chunk ^ lane % 8) * 16));
#pragma unroll
        for (int step = 0; step < 2; ++step) {
          const int pair = (begin + stage * 64 + half * 32 + step * 16) / 2;
          uint32_t a[4] = {0, 0, 0, 0};
          if (g < m) {
            a[0] = x_row[pair];
            a[2] = x_row[pair + 4];
          }
          mma<T>(sum, a, w[2 * step], w[2 * step + 1]);
        }
      }
    }
    // Two buffers by turns: who still reads the one is behind the barrier that the other's writers wait at.
    auto* partial = reinterpret_cast<float*>(memory + kRingBytes) + tile % 2 * kPartialFloats;
    partial[(warp * kMostTokens + g) * kRows + 2 * t] = sum[0];
    partial[(warp * kMostTokens + g) * kRows + 2 * t + 1] = sum[1];
    __syncthreads();
    const int token = threadIdx.x / kRows, row = threadIdx.x % kRows;
    if (token >= m) continue;
    const TilePlace place = place_of(plan, blockIdx.x + int64_t{tile} * gridDim.x);
    const WeightJob& job = plan.jobs[place.job];
    if (place.first_row + row >= job.n) continue;
    float total = 0;
#pragma unroll
    for (int i = 0; i < kWarps; ++i) total += partial[(i * kMostTokens + token) * kRows + row];
    if (plan.out_dtype == DType::kF32) {
      store_sum<float>(job, token, place.first_row + row, total);
    } else {
      store_sum<T>(job, token, place.first_row + row, total);
    }
  }
  wait_copies<0>();
}

size_t shared_bytes(const WeightPlan& plan) {
  const int64_t pitch = (plan.k + 63) / 64 * 64 + kPad;
  return static_cast<size_t>(kRingBytes + 2 * kPartialFloats * static_cast<int>(sizeof(float)) + plan.m * pitch * 2);
}

template <typename T, typename X>
void launch(Device device, const WeightPlan& plan) {
  const Runtime& use = runtime(device);
  allow_shared<few_rows_kernel<T, X>>(device, use.shared_bytes - 1024);
  int64_t tiles = 0;
  for (int i = 0; i < plan.count; ++i) tiles += (plan.jobs[i].n + kRows - 1) / kRows;
  const auto blocks = static_cast<unsigned>(std::min<int64_t>(tiles, use.multiprocessors * kBlocksPerProcessor));
  launch_dependent(device, "matmul", few_rows_kernel<T, X>, blocks, kThreads, shared_bytes(plan), plan, tiles);
}

}  // namespace

// With little room left, too few blocks share a multiprocessor to keep the memory busy.
bool fits_few_rows(const Runtime& use, const WeightPlan& plan) {
  return plan.m <= kMostTokens && plan.k % 8 == 0 && aligned(plan.x, 16) &&
         shared_bytes(plan) <= static_cast<size_t>(std::min(use.shared_bytes, 160 * 1024));
}

void multiply_few_rows(Device device, const WeightPlan& plan) {
  const bool half = plan.dtype == DType::kF16;
  if (plan.x_dtype == DType::kF32) {
    half ? launch<__half, float>(device, plan) : launch<__nv_bfloat16, float>(device, plan);
  } else {
    half ? launch<__half, __half>(device, plan) : launch<__nv_bfloat16, __nv_bfloat16>(device, plan);
  }
}

}  // namespace wick::cuda
