#include "backends/cuda/dependent_launch.cuh"
#include "backends/cuda/input_rows.cuh"
#include "backends/cuda/launch.cuh"
#include "backends/cuda/matmul_plan.h"
#include "backends/cuda/mma.cuh"

namespace wick::cuda {
namespace {

constexpr int kWarps = kParts, kRows = 8, kStages = 8;  // weights' rows of a tile; pieces of 64 columns under way
constexpr int kStageBytes = kRows * 128, kRingBytes = kWarps * kStages * kStageBytes;
constexpr int kMostTokens = 8;
constexpr int kBatch = 4;  // tiles whose parts are added up together
constexpr int kPartialFloats = kBatch * kWarps * kMostTokens * kRows;
constexpr int kPad = 8;  // elements between rows of x, so that eight of them lie in different banks
constexpr int kBlocksPerProcessor = 2;
static_assert(kWarps * 32 == kThreads);

// Which rows of which weights a tile is. Gated: the first half from gate, the second the same rows of up.
struct TilePlace {
  int job, first_row;
};
__device__ __forceinline__ TilePlace place_of(const WeightPlan& plan, int tile) {
  if (plan.gated) return {0, tile * (kRows / 2)};
  int job = 0;
  for (; job + 1 < plan.count; ++job) {
    const int tiles = (static_cast<int>(plan.jobs[job].n) + kRows - 1) / kRows;
    if (tile < tiles) break;
    tile -= tiles;
  }
  return {job, tile * kRows};
}

struct NoExperts {};

// Adds up the parts of `count` tiles, a thread for each row of weights and token; all threads of the block.
template <typename T>
__device__ __forceinline__ void finish_tiles(const WeightPlan& plan, const float* partial, int first_tile, int count,
                                             int first_token) {
  const int which = threadIdx.x / (kMostTokens * kRows), token = threadIdx.x / kRows % kMostTokens;
  const int in_tile = threadIdx.x % kRows;
  static_assert(kBatch * kMostTokens * kRows == kThreads);
  const TilePlace place = place_of(plan, first_tile + which * static_cast<int>(gridDim.x));
  const WeightJob& job = plan.jobs[place.job];
  const int row = place.first_row + in_tile;
  const bool mine = which < count && token < plan.m && row < job.n && (!plan.gated || in_tile < kRows / 2);
  const int64_t at = (first_token + token) * job.n + row;
  const float bias = mine && job.bias ? job.bias[row] : 0;
  const float up_bias = mine && plan.gated && plan.jobs[1].bias ? plan.jobs[1].bias[row] : 0;
  const float residual = mine && job.residual ? job.residual[at] : 0;
  __syncthreads();
  if (!mine) return;
  const auto total_of = [&](int in_tile) {
    float total = 0;
#pragma unroll
    for (int i = 0; i < kWarps; ++i) total += partial[((which * kWarps + i) * kMostTokens + token) * kRows + in_tile];
    return total;
  };
  float sum = total_of(in_tile);
  if (job.bias) sum += bias;
  if (plan.gated) {
    float up = total_of(in_tile + kRows / 2);
    if (plan.jobs[1].bias) up += up_bias;
    sum = gated(sum, up);
  }
  if (job.residual) sum += residual;
  if (plan.out_dtype == DType::kF32) {
    static_cast<float*>(job.out)[at] = sum;
  } else {
    static_cast<T*>(job.out)[at] = to<T>(sum);
  }
}

// Up to 8 rows of x against all weights, 8 rows of those at a time. Each warp takes one part of k and streams its
// weights through shared memory with its own copies, from tile to tile without a break; they are on their way before x
// is read. With experts a block of the grid's second dimension has one row of x and the weights of the expert that
// was chosen for it.
template <typename T, typename X, typename Experts>
__global__ void __launch_bounds__(kThreads, 2)
    few_rows_kernel(const __grid_constant__ WeightPlan plan, const __grid_constant__ Experts experts, int tiles) {
  extern __shared__ __align__(128) char memory[];
  __shared__ typename InputRow<X, false>::Shared reduced;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const auto k = static_cast<int>(plan.k), m = static_cast<int>(plan.m);
  const int part = static_cast<int>(part_size(k)), begin = min(k, warp * part), end = min(k, begin + part);
  const int stages = (end - begin + 63) / 64;
  constexpr bool kChooses = std::is_same_v<Experts, ExpertTable>;
  int expert = 0, first_token = 0, first_row = 0;
  if constexpr (kChooses) {
    first_token = static_cast<int>(blockIdx.y);
    first_row = first_token / experts.per_row;
  }
  const int blocks = static_cast<int>(gridDim.x), block = static_cast<int>(blockIdx.x);
  const int my_tiles = (tiles - block + blocks - 1) / blocks;

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
        const TilePlace place = place_of(plan, block + next_tile * blocks);
        const int last = static_cast<int>(plan.jobs[place.job].n) - 1;
        const auto* weights = static_cast<const T*>(plan.jobs[place.job].weights);
        const auto* others = plan.gated ? static_cast<const T*>(plan.jobs[1].weights) : weights;
        if constexpr (kChooses) {
          weights = static_cast<const T*>(experts.first[expert]);
          others = plan.gated ? static_cast<const T*>(experts.second[expert]) : weights;
        }
        upper = weights + min(place.first_row + r, last) * plan.ld;
        lower = others + min(place.first_row + r + (plan.gated ? 0 : 4), last) * plan.ld;
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
  if constexpr (kChooses) expert = experts.ids[blockIdx.y];
  fetch_norm(plan);
  for (int i = 0; i < kStages - 1; ++i) start_next();
  if (plan.steady) wait_for_previous();

  // x in the weights' dtype, [m, pitch].
  auto* x = reinterpret_cast<uint32_t*>(memory + kRingBytes + 2 * kPartialFloats * sizeof(float));
  const int pitch = (k + 63) / 64 * 64 + kPad;
  for (int token = 0; token < m; ++token) {
    const InputRow<X, false> row(plan, first_row + token, reduced);
    row.each([&](int64_t i, float4 four) {
      *reinterpret_cast<uint2*>(x + (token * pitch + static_cast<int>(i)) / 2) = {round_pair<T>(four.x, four.y),
                                                                                  round_pair<T>(four.z, four.w)};
    });
    for (int i = k + static_cast<int>(threadIdx.x) * 2; i < pitch - kPad; i += kThreads * 2) {
      x[(token * pitch + i) / 2] = 0;
    }
  }
  __syncthreads();

  const int g = lane / 4, t = lane % 4;
  const uint32_t* x_row = x + (g < m ? g : 0) * pitch / 2 + t;  // rows beyond m go nowhere
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
          const uint32_t a[4] = {x_row[pair], 0, x_row[pair + 4], 0};
          mma<T>(sum, a, w[2 * step], w[2 * step + 1]);
        }
      }
    }
    // Two buffers by turns: who still reads the one is behind the barrier that the other's writers wait at.
    auto* partial = reinterpret_cast<float*>(memory + kRingBytes) + tile / kBatch % 2 * kPartialFloats;
    float* mine = partial + ((tile % kBatch * kWarps + warp) * kMostTokens + g) * kRows + 2 * t;
    mine[0] = sum[0];
    mine[1] = sum[1];
    if (tile % kBatch != kBatch - 1 && tile + 1 < my_tiles) continue;
    finish_tiles<T>(plan, partial, block + tile / kBatch * kBatch * blocks, tile % kBatch + 1, first_token);
  }
  wait_copies<0>();
}

size_t shared_bytes(const WeightPlan& plan) {
  const int64_t pitch = (plan.k + 63) / 64 * 64 + kPad;
  return static_cast<size_t>(kRingBytes + 2 * kPartialFloats * static_cast<int>(sizeof(float)) + plan.m * pitch * 2);
}

int64_t tile_count(const WeightPlan& plan) {
  if (plan.gated) return (plan.jobs[0].n + kRows / 2 - 1) / (kRows / 2);
  int64_t tiles = 0;
  for (int i = 0; i < plan.count; ++i) tiles += (plan.jobs[i].n + kRows - 1) / kRows;
  return tiles;
}

template <typename T, typename X>
void launch(Device device, const WeightPlan& plan) {
  const Runtime& use = runtime(device);
  allow_shared<few_rows_kernel<T, X, NoExperts>>(device, use.shared_bytes - 1024);
  const int64_t tiles = tile_count(plan);
  const auto blocks = static_cast<unsigned>(std::min<int64_t>(tiles, use.multiprocessors * kBlocksPerProcessor));
  launch_dependent(device, "matmul", few_rows_kernel<T, X, NoExperts>, blocks, kThreads, shared_bytes(plan), plan,
                   NoExperts{}, static_cast<int>(tiles));
}

template <typename T>
void launch_experts(Device device, const WeightPlan& plan, const ExpertTable& experts, int64_t rows) {
  const Runtime& use = runtime(device);
  allow_shared<few_rows_kernel<T, float, ExpertTable>>(device, use.shared_bytes - 1024);
  const int64_t tiles = tile_count(plan), room = use.multiprocessors * kBlocksPerProcessor;
  const dim3 grid(static_cast<unsigned>(std::min(tiles, (room + rows - 1) / rows)), static_cast<unsigned>(rows));
  launch_dependent(device, "experts", few_rows_kernel<T, float, ExpertTable>, grid, kThreads, shared_bytes(plan), plan,
                   experts, static_cast<int>(tiles));
}

}  // namespace

// With little room left, too few blocks share a multiprocessor to keep the memory busy.
bool fits_few_rows(const Runtime& use, const WeightPlan& plan) {
  int64_t most = 0;
  for (int i = 0; i < plan.count; ++i) most = std::max(most, plan.jobs[i].n);
  return most < int64_t{1} << 29 && plan.m <= kMostTokens && plan.k % 8 == 0 && aligned(plan.x, 16) &&
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

void multiply_experts(Device device, const WeightPlan& plan, const ExpertTable& experts, int64_t rows) {
  plan.dtype == DType::kF16 ? launch_experts<__half>(device, plan, experts, rows)
                            : launch_experts<__nv_bfloat16>(device, plan, experts, rows);
}

}  // namespace wick::cuda
