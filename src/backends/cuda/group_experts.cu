#include "backends/cuda/dependent_launch.cuh"
#include "backends/cuda/experts_plan.h"
#include "backends/cuda/input_rows.cuh"
#include "backends/cuda/mma_tiles.cuh"

// Mixtures of experts for many tokens: rows, a token's visits to its experts, are put in the order of experts, so that
// each expert's weights meet all of its rows in tiles. Products are added up as in few_rows_kernel, to the same bits.
namespace wick::cuda {
namespace {

// Rows in the order of experts, of one expert in their own.
struct RowOrder {
  const int32_t* ids;  // [rows]: experts
  int64_t rows;
  int experts, tile_rows;
  int* counts;                // [experts]
  int32_t *rows_at, *places;  // [rows]: which row is where, and back
  int4* tiles;                // (expert, first place, rows, -)
  int* tile_count;
};

// A block per expert.
__global__ void __launch_bounds__(kThreads) count_kernel(const __grid_constant__ RowOrder order) {
  __shared__ int shared[32];
  let_next_start();
  wait_for_previous();
  int count = 0;
  for (int64_t i = threadIdx.x; i < order.rows; i += kThreads) count += order.ids[i] == static_cast<int>(blockIdx.x);
  count = block_combine(count, shared, 0, [](int a, int b) { return a + b; });
  if (threadIdx.x == 0) order.counts[blockIdx.x] = count;
}

__global__ void __launch_bounds__(kThreads) place_kernel(const __grid_constant__ RowOrder order) {
  __shared__ int shared[32], warps[kThreads / 32];
  static_assert(kMostExperts <= kThreads);
  let_next_start();
  wait_for_previous();
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

struct GroupJob {
  const void* x;           // [tokens or rows, k]
  const int32_t* rows_at;  // row r of x for each of `chosen` rows; null: x is in the order of experts
  const int4* tiles;
  const int* tile_count;
  void* out;  // [rows, n] in the order of experts; gated: in the dtype of the weights, else f32
  int64_t n, k;
  int chosen;
};

// Gated: of each 16 rows of weights in a tile the first 8 are gate's, the others the same ones of up.
template <typename T, typename Shape, bool kGated>
__global__ void __launch_bounds__(Shape::threads)
    group_kernel(const __grid_constant__ GroupJob job, const __grid_constant__ ExpertTable experts) {
  extern __shared__ __align__(128) char memory[];
  let_next_start();
  wait_for_previous();
  if (static_cast<int>(blockIdx.y) >= *job.tile_count) return;
  const int4 tile = job.tiles[blockIdx.y];
  constexpr int kColumns = kGated ? Shape::n / 2 : Shape::n;  // of out
  const int64_t first_n = int64_t{blockIdx.x} * kColumns;
  const auto k = static_cast<int>(job.k);

  // What this thread copies: chunk threadIdx.x % 8 of some rows of either side.
  constexpr int kStep = Shape::threads / 8, kLeft = (Shape::m + kStep - 1) / kStep, kRight = Shape::n / kStep;
  const int chunk = threadIdx.x % 8, first_row = threadIdx.x / 8;
  const T *left[kLeft], *right[kRight];
#pragma unroll
  for (int i = 0; i < kLeft; ++i) {
    const int row = first_row + i * kStep;
    left[i] = nullptr;
    if (row >= tile.z) continue;
    const int64_t source = job.rows_at ? job.rows_at[tile.y + row] / job.chosen : tile.y + row;
    left[i] = static_cast<const T*>(job.x) + source * job.k + chunk * 8;
  }
#pragma unroll
  for (int i = 0; i < kRight; ++i) {
    const int row = first_row + i * kStep;
    const int64_t n = first_n + (kGated ? row / 16 * 8 + row % 8 : row);
    const void* of = kGated && row / 8 % 2 ? experts.second[tile.x] : experts.first[tile.x];
    right[i] = n < job.n ? static_cast<const T*>(of) + n * job.k + chunk * 8 : nullptr;
  }
  const int stages = (k + kTileDepth - 1) / kTileDepth, per_part = static_cast<int>(part_size(job.k) / kTileDepth);
  const uint32_t base = shared_address(memory);
  const auto start_stage = [&](int stage) {
    if (stage < stages) {
      const uint32_t place = base + static_cast<uint32_t>(stage % Shape::stages * Shape::stage_bytes);
      const int column = stage * kTileDepth;
      const bool inside = column + chunk * 8 < k;
#pragma unroll
      for (int i = 0; i < kLeft; ++i) {
        if (first_row + i * kStep >= Shape::m) continue;
        const bool valid = inside && left[i];
        copy_async(place + chunk_place((first_row + i * kStep) * 8 + chunk), valid ? left[i] + column : job.x, valid);
      }
#pragma unroll
      for (int i = 0; i < kRight; ++i) {
        const bool valid = inside && right[i];
        copy_async(place + Shape::m * 128 + chunk_place((first_row + i * kStep) * 8 + chunk),
                   valid ? right[i] + column : job.x, valid);
      }
    }
    commit_copies();
  };
  TileSums<T, Shape> sums;
  sums.add_up(base, stages, per_part, start_stage);
#pragma unroll
  for (int i = 0; i < Shape::mma_m; ++i) {
#pragma unroll
    for (int j = 0; j < Shape::mma_n; j += kGated ? 2 : 1) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {  // two neighbours of row h
        const int row = sums.row(i, 2 * h);
        const int at_column = sums.column(j, 0);
        const int64_t column = first_n + (kGated ? at_column / 16 * 8 + at_column % 8 : at_column);
        if (row >= tile.z || column >= job.n) continue;
        const int64_t at = (tile.y + row) * job.n + column;
        const float* one = sums.totals[i][j] + 2 * h;
        if constexpr (kGated) {
          const float* two = sums.totals[i][j + 1] + 2 * h;
          *reinterpret_cast<uint32_t*>(static_cast<T*>(job.out) + at) =
              round_pair<T>(gated(one[0], two[0]), gated(one[1], two[1]));
        } else {
          *reinterpret_cast<float2*>(static_cast<float*>(job.out) + at) = {one[0], one[1]};
        }
      }
    }
  }
}

// out = residual + the answers of a token's experts times their shares, added up by number.
__global__ void __launch_bounds__(kThreads)
    combine_kernel(const float* answers, const int32_t* places, const float* shares, const float* residual, int chosen,
                   int64_t hidden, float* out) {
  let_next_start();
  wait_for_previous();
  const int64_t token = blockIdx.y, d = (int64_t{blockIdx.x} * kThreads + threadIdx.x) * 4;
  if (d >= hidden) return;
  float sum[4] = {};
  for (int j = 0; j < chosen; ++j) {
    const int64_t row = token * chosen + j;
    const float share = shares[row];
    const float4 answer = *reinterpret_cast<const float4*>(answers + places[row] * hidden + d);
    const float of[4] = {answer.x, answer.y, answer.z, answer.w};
#pragma unroll
    for (int e = 0; e < 4; ++e) sum[e] = __fadd_rn(sum[e], __fmul_rn(of[e], share));
  }
  const int64_t at = token * hidden + d;
#pragma unroll
  for (int e = 0; e < 4; ++e) out[at + e] = residual ? sum[e] + residual[at + e] : sum[e];
}

template <typename T, typename Shape, bool kGated>
void launch(Device device, const GroupJob& job, const ExpertTable& experts, unsigned most_tiles) {
  allow_shared<group_kernel<T, Shape, kGated>>(device, Shape::bytes);
  const dim3 grid(blocks_for(job.n, kGated ? Shape::n / 2 : Shape::n), most_tiles);
  launch_dependent(device, "experts", group_kernel<T, Shape, kGated>, grid, Shape::threads, Shape::bytes, job, experts);
}

using SmallTile = Tile<16, 128, 1, 4, 6>;
using MiddleTile = Tile<64, 128, 2, 4, 4>;
using LargeTile = Tile<128, 128, 2, 4, 4>;

template <typename T>
void mix(Device device, const MixPlan& plan) {
  const int64_t tokens = plan.input.m, rows = tokens * plan.chosen, each = rows / plan.experts;
  const int tile_rows = each <= 16 ? SmallTile::m : each <= 96 ? MiddleTile::m : LargeTile::m;
  const auto most_tiles = static_cast<unsigned>(rows / tile_rows + std::min<int64_t>(plan.experts, rows));
  const Scratch x(device, static_cast<size_t>(tokens * plan.hidden) * 2);
  const Scratch between(device, static_cast<size_t>(rows * plan.inner) * 2);
  const Scratch answers(device, static_cast<size_t>(rows * plan.hidden) * 4);
  const Scratch numbers(device, static_cast<size_t>(2 * rows + plan.experts + 1) * 4);
  const Scratch tiles(device, most_tiles * sizeof(int4));
  auto* counts = numbers.as<int>();
  const RowOrder order{plan.gates.ids,
                       rows,
                       plan.experts,
                       tile_rows,
                       counts,
                       counts + plan.experts + 1,
                       counts + plan.experts + 1 + rows,
                       tiles.as<int4>(),
                       counts + plan.experts};
  const auto blocks = static_cast<unsigned>(plan.experts);
  launch_dependent(device, "experts", count_kernel, blocks, kThreads, 0, order);
  launch_dependent(device, "experts", place_kernel, blocks, kThreads, 0, order);
  round_rows(device, plan.input, x.as<void>());
  const GroupJob up{x.as<void>(),       order.rows_at, order.tiles, order.tile_count,
                    between.as<void>(), plan.inner,    plan.hidden, plan.chosen};
  const GroupJob down{between.as<void>(), nullptr,     order.tiles, order.tile_count,
                      answers.as<void>(), plan.hidden, plan.inner,  plan.chosen};
  const auto multiply = [&]<typename Shape>(Shape) {
    launch<T, Shape, true>(device, up, plan.gates, most_tiles);
    launch<T, Shape, false>(device, down, plan.downs, most_tiles);
  };
  switch (tile_rows) {
    case SmallTile::m: multiply(SmallTile()); break;
    case MiddleTile::m: multiply(MiddleTile()); break;
    default: multiply(LargeTile()); break;
  }
  const dim3 grid(blocks_for(plan.hidden, kThreads * 4), static_cast<unsigned>(tokens));
  launch_dependent(device, "experts", combine_kernel, grid, kThreads, 0, answers.as<const float>(), order.places,
                   plan.downs.shares, plan.residual, plan.chosen, plan.hidden, plan.out);
}

}  // namespace

void mix_grouped(Device device, const MixPlan& plan) {
  plan.input.dtype == DType::kF16 ? mix<__half>(device, plan) : mix<__nv_bfloat16>(device, plan);
}

}  // namespace wick::cuda
