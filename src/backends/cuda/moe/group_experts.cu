#include "backends/cuda/gemm/input_rows.cuh"
#include "backends/cuda/gemm/mma_tiles.cuh"
#include "backends/cuda/moe/experts_plan.h"
#include "backends/cuda/runtime/dependent_launch.cuh"

// Mixtures of experts of f16 or bf16 for many tokens: each expert's weights meet all of its rows in tiles. Products are
// added up as in few_rows_kernel, to the same bits.
namespace wick::cuda {
namespace {

struct GroupJob {
  const void* x;           // [tokens or rows, k]
  const int32_t* rows_at;  // row r of x for each of `chosen` rows; null: x is in the order of experts
  const int4* tiles;
  const int* tile_count;
  void* out;  // [rows, n] in the order of experts; gated: in the dtype of the weights, else f32
  int64_t n, k;
  int chosen;
  bool clamped;
};

// Gated: of each 16 rows of weights in a tile the first 8 are gate's, the others the same ones of up.
template <typename T, typename Shape, bool kGated>
__global__ void __launch_bounds__(Shape::threads)
    group_kernel(const __grid_constant__ GroupJob job, const __grid_constant__ ExpertTable experts) {
  extern __shared__ __align__(128) char memory[];
  launch_dependents();
  wait_for_prerequisites();
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
  const auto with_bias = [&](const float* pair, const float* bias, int64_t column) {
    if (!bias) return float2{pair[0], pair[1]};
    bias += tile.x * job.n + column;
    return float2{pair[0] + bias[0], pair[1] + bias[1]};
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
        const float2 one = with_bias(sums.totals[i][j] + 2 * h, experts.first_bias, column);
        if constexpr (kGated) {
          const float2 two = with_bias(sums.totals[i][j + 1] + 2 * h, experts.second_bias, column);
          *reinterpret_cast<uint32_t*>(static_cast<T*>(job.out) + at) =
              job.clamped ? round_pair<T>(clamped_gated(one.x, two.x), clamped_gated(one.y, two.y))
                          : round_pair<T>(gated(one.x, two.x), gated(one.y, two.y));
        } else {
          *reinterpret_cast<float2*>(static_cast<float*>(job.out) + at) = one;
        }
      }
    }
  }
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
  const Scratch x(device, static_cast<size_t>(tokens * plan.hidden) * 2);
  const Scratch between(device, static_cast<size_t>(rows * plan.inner) * 2);
  const Scratch outputs(device, static_cast<size_t>(rows * plan.hidden) * 4);
  const ExpertRows order(device, plan.gates.ids, rows, plan.experts, tile_rows);
  round_rows(device, plan.input, x.as<void>());
  const GroupJob up{x.as<void>(), order.rows_at(), order.tiles(), order.tile_count(), between.as<void>(),
                    plan.inner,   plan.hidden,     plan.chosen,   plan.clamped};
  const GroupJob down{
      between.as<void>(), nullptr,     order.tiles(), order.tile_count(), outputs.as<void>(), plan.hidden,
      plan.inner,         plan.chosen, false};
  const auto multiply = [&]<typename Shape>(Shape) {
    launch<T, Shape, true>(device, up, plan.gates, order.most_tiles());
    launch<T, Shape, false>(device, down, plan.downs, order.most_tiles());
  };
  switch (tile_rows) {
    case SmallTile::m: multiply(SmallTile()); break;
    case MiddleTile::m: multiply(MiddleTile()); break;
    default: multiply(LargeTile()); break;
  }
  combine_outputs(device, outputs.as<const float>(), order, plan);
}

}  // namespace

void mix_grouped(Device device, const MixPlan& plan) {
  plan.input.dtype == DType::kF16 ? mix<__half>(device, plan) : mix<__nv_bfloat16>(device, plan);
}

}  // namespace wick::cuda
