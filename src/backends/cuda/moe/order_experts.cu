#include "backends/cuda/moe/experts_plan.h"
#include "backends/cuda/runtime/dependent_launch.cuh"

// Where the rows of experts come together before their products, and their outputs behind them.
namespace wick::cuda {
namespace {

struct RowOrder {
  const int32_t* ids;  // [rows]: experts
  int64_t rows;
  int experts, tile_rows;
  int* counts;  // [experts]
  int32_t *rows_at, *places;
  int4* tiles;
  int* tile_count;
};

// A block per expert.
__global__ void __launch_bounds__(kThreads) count_kernel(const __grid_constant__ RowOrder order) {
  __shared__ int shared[32];
  launch_dependents();
  wait_for_prerequisites();
  int count = 0;
  for (int64_t i = threadIdx.x; i < order.rows; i += kThreads) count += order.ids[i] == static_cast<int>(blockIdx.x);
  count = block_combine(count, shared, 0, [](int a, int b) { return a + b; });
  if (threadIdx.x == 0) order.counts[blockIdx.x] = count;
}

__global__ void __launch_bounds__(kThreads) place_kernel(const __grid_constant__ RowOrder order) {
  __shared__ int shared[32], warps[kThreads / 32];
  static_assert(kMostExperts <= kThreads);
  launch_dependents();
  wait_for_prerequisites();
  const auto expert = static_cast<int>(blockIdx.x), other = static_cast<int>(threadIdx.x);
  const auto tiles_of = [&](int rows) { return (rows + order.tile_rows - 1) / order.tile_rows; };
  const auto add = [](int a, int b) { return a + b; };
  const int count = other < order.experts ? order.counts[other] : 0, mine = order.counts[expert];
  const int first = block_combine(other < expert ? count : 0, shared, 0, add);
  const int first_tile = block_combine(other < expert ? tiles_of(count) : 0, shared, 0, add);
  const int all_tiles = block_combine(tiles_of(count), shared, 0, add);
  if (expert == 0 && threadIdx.x == 0) *order.tile_count = all_tiles;
  for (int i = threadIdx.x; i < tiles_of(mine); i += kThreads) {
    const int from = i * order.tile_rows;
    order.tiles[first_tile + i] = {expert, first + from, min(order.tile_rows, mine - from), 0};
  }
  int place = first;
  for (int64_t base = 0; base < order.rows; base += kThreads) {
    const int64_t row = base + threadIdx.x;
    const bool hit = row < order.rows && order.ids[row] == expert;
    const unsigned hits = __ballot_sync(0xffffffffu, hit);
    __syncthreads();
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = __popc(hits);
    __syncthreads();
    int before = __popc(hits & ((1u << threadIdx.x % 32) - 1)), all = 0;
    for (int i = 0; i < kThreads / 32; ++i) {
      before += i < static_cast<int>(threadIdx.x / 32) ? warps[i] : 0;
      all += warps[i];
    }
    if (hit) {
      order.rows_at[place + before] = static_cast<int32_t>(row);
      order.places[row] = place + before;
    }
    place += all;
  }
}

__global__ void __launch_bounds__(kThreads)
    combine_kernel(const float* outputs, const int32_t* places, const float* routing_weights, const float* residual,
                   int chosen, int64_t hidden, float* out) {
  launch_dependents();
  wait_for_prerequisites();
  const int64_t token = blockIdx.y, d = (int64_t{blockIdx.x} * kThreads + threadIdx.x) * 4;
  if (d >= hidden) return;
  float sum[4] = {};
  for (int j = 0; j < chosen; ++j) {
    const int64_t row = token * chosen + j;
    const float routing_weight = routing_weights[row];
    const float4 output = *reinterpret_cast<const float4*>(outputs + places[row] * hidden + d);
    const float of[4] = {output.x, output.y, output.z, output.w};
#pragma unroll
    for (int e = 0; e < 4; ++e) sum[e] = __fadd_rn(sum[e], __fmul_rn(of[e], routing_weight));
  }
  const int64_t at = token * hidden + d;
#pragma unroll
  for (int e = 0; e < 4; ++e) out[at + e] = residual ? sum[e] + residual[at + e] : sum[e];
}

}  // namespace

ExpertRows::ExpertRows(Device device, const int32_t* ids, int64_t rows, int experts, int tile_rows)
    : rows_(rows),
      most_tiles_(static_cast<unsigned>(rows / tile_rows + std::min<int64_t>(experts, rows))),
      numbers_(device, static_cast<size_t>(2 * rows + 1 + experts) * 4),
      tiles_(device, most_tiles_ * sizeof(int4)) {
  auto* numbers = numbers_.as<int32_t>();
  const RowOrder order{ids,     rows,           experts,           tile_rows,         numbers + 2 * rows + 1,
                       numbers, numbers + rows, tiles_.as<int4>(), numbers + 2 * rows};
  const auto blocks = static_cast<unsigned>(experts);
  launch_dependent(device, "experts", count_kernel, blocks, kThreads, 0, order);
  launch_dependent(device, "experts", place_kernel, blocks, kThreads, 0, order);
}

void combine_outputs(Device device, const float* outputs, const ExpertRows& rows, const MixPlan& plan) {
  const dim3 grid(blocks_for(plan.hidden, kThreads * 4), static_cast<unsigned>(plan.input.m));
  launch_dependent(device, "experts", combine_kernel, grid, kThreads, 0, outputs, rows.places(),
                   plan.downs.routing_weights, plan.residual, plan.chosen, plan.hidden, plan.out);
}

}  // namespace wick::cuda
