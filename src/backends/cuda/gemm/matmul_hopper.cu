#include "backends/cuda/gemm/matmul_mapped.cuh"
#include "backends/cuda/gemm/ring.cuh"
#include "backends/cuda/runtime/dependent_launch.cuh"

// Many rows of x on Hopper: persistent blocks, each for one tile after the other. One warp fetches, two warpgroups
// multiply 64 rows of x each. Products are added up in the order of the other kernels, to the same bits.
namespace wick::cuda {
namespace {

constexpr int kGroups = 2, kThreadCount = (kGroups + 1) * 128;
constexpr int kTileM = kGroups * 64;

// 128 rows of x against kTileN rows of weights. Two blocks of a cluster have the same weights and fetch half each.
template <int kTileN, int kCluster>
struct HopperShape {
  static constexpr int n = kTileN, half = kTileN / 2, cluster = kCluster;
  static constexpr int x_bytes = kTileM * 128, half_bytes = half * 128;
  static constexpr int stage_bytes = x_bytes + 2 * half_bytes;
  static constexpr int stages = 224 * 1024 / stage_bytes;
  static constexpr int bytes = stages * stage_bytes + kSwizzleBytes;
  static_assert(half_bytes % kSwizzleBytes == 0);
};

template <typename T, typename Shape>
__global__ void __launch_bounds__(kThreadCount, 1)
    hopper_kernel(const __grid_constant__ MappedPlan mapped, int units_m, int tiles_n) {
#if WICK_HOPPER
  extern __shared__ char memory[];
  __shared__ uint64_t barriers[2 * Shape::stages];
  const WeightPlan& plan = mapped.plan;
  const uint32_t ring = held((shared_address(memory) + kSwizzleBytes - 1) / kSwizzleBytes * kSwizzleBytes);
  const uint32_t full = held(shared_address(barriers)), empty = full + Shape::stages * 8;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = warp / 4;
  const int rank = Shape::cluster > 1 ? static_cast<int>(cluster_rank()) : 0;
  const auto k = static_cast<int>(plan.k);
  const int steps = (k + kBoxColumns - 1) / kBoxColumns, per_part = static_cast<int>(part_size(k)) / kBoxColumns;
  const int units = units_m * tiles_n, first_unit = static_cast<int>(blockIdx.x) / Shape::cluster;
  const int unit_step = static_cast<int>(gridDim.x) / Shape::cluster;

  launch_dependents();
  if (threadIdx.x == 0) {
    for (int i = 0; i < Shape::stages; ++i) {
      init_barrier(full + i * 8, 1);
      init_barrier(empty + i * 8,
                   kGroups * 4 * Shape::cluster);  // a lane of each warp that reads what was fetched here
    }
    publish_barriers();
  }
  Shape::cluster > 1 ? sync_cluster() : __syncthreads();
  wait_for_prerequisites();

  if (group == kGroups) {
    give_registers<24>();
    if (warp == kGroups * 4 && lane == 0) {
      PipelineState<Shape::stages> state{0, 1};
      for (int unit = first_unit; unit < units; unit += unit_step) {
        const UnitPlace at = place_of_unit<Shape::cluster>(unit, units_m, tiles_n);
        const int first_m = (at.unit_m * Shape::cluster + rank) * kTileM;
        const TilePlace weights = place_of_tile<Shape::n>(plan, at.tile_n);
        const auto fetch_half = [&](uint32_t to, int half, int column, uint32_t barrier) {
          const CUtensorMap& map = mapped.weights[plan.gated ? half : weights.job];
          const int row = weights.first_row + (plan.gated ? 0 : half * Shape::half);
          to += Shape::x_bytes + half * Shape::half_bytes;
          Shape::cluster > 1 ? fetch_box_for(3, to, map, row, column, barrier)
                             : fetch_box(to, map, row, column, barrier);
        };
        for (int step = 0; step < steps; ++step) {
          wait_barrier(empty + state.at * 8, state.parity);
          const uint32_t to = ring + state.at * Shape::stage_bytes, barrier = full + state.at * 8;
          const int column = step * kBoxColumns;
          arrive_and_expect(barrier, Shape::stage_bytes);
          fetch_box(to, mapped.x, first_m, column, barrier);
          if constexpr (Shape::cluster > 1) {
            fetch_half(to, rank, column, barrier);
          } else {
            fetch_half(to, 0, column, barrier);
            fetch_half(to, 1, column, barrier);
          }
          state.advance();
        }
      }
    }
  } else {
    take_registers<240>();
    PipelineState<Shape::stages> state;
    const auto release = [&](uint32_t of) {
      if constexpr (Shape::cluster > 1) {
        if (lane < Shape::cluster) arrive_at(in_block(empty + of * 8, lane));
      } else {
        if (lane == 0) arrive(empty + of * 8);
      }
    };
    for (int unit = first_unit; unit < units; unit += unit_step) {
      float sum[Shape::n / 2], total[Shape::n / 2];
#pragma unroll
      for (int i = 0; i < Shape::n / 2; ++i) sum[i] = total[i] = 0;
#pragma unroll 1
      for (int first = 0; first < steps; first += per_part) {
        const int last = min(steps, first + per_part);
        uint32_t before = state.at;
#pragma unroll 1
        for (int step = first; step < last; ++step) {
          wait_barrier(full + state.at * 8, state.parity);
          const uint32_t from = ring + state.at * Shape::stage_bytes;
          const uint32_t x = describe(from + group * (Shape::x_bytes / kGroups)), w = describe(from + Shape::x_bytes);
          begin_products();
#pragma unroll
          for (uint32_t i = 0; i < kBoxColumns / 16; ++i) {
            multiply_async<T, Shape::n>(sum, x + i * 2, w + i * 2, step > first || i > 0);
          }
          end_products();
          if (step > first) {
            wait_products<1>();
            release(before);
          }
          before = state.at;
          state.advance();
        }
        wait_products<0>();
        release(before);
#pragma unroll
        for (int i = 0; i < Shape::n / 2; ++i) total[i] += sum[i];
      }

      const UnitPlace at = place_of_unit<Shape::cluster>(unit, units_m, tiles_n);
      const int first_m = (at.unit_m * Shape::cluster + rank) * kTileM;
      const TilePlace weights = place_of_tile<Shape::n>(plan, at.tile_n);
      const Target<T> target(mapped, weights.job);
      target.store_all(first_m + group * 64 + warp % 4 * 16 + lane / 4, weights.first_row + lane % 4 * 2, total);
    }
  }
  if constexpr (Shape::cluster > 1) sync_cluster();  // nobody's memory goes while others fetch to it
#endif
}

template <typename T, typename Shape>
void launch(Device device, const WeightPlan& plan) {
  const MappedPlan mapped = map_plan(device, plan, kTileM, Shape::half);
  allow_shared<hopper_kernel<T, Shape>>(device, Shape::bytes);
  const int tiles_n = tiles_of_plan<Shape::n>(plan);
  const auto units_m = static_cast<int>((plan.m + kTileM * Shape::cluster - 1) / (kTileM * Shape::cluster));
  const int clusters = std::min(units_m * tiles_n, runtime(device).multiprocessors / Shape::cluster);
  launch_clusters(device, "matmul", hopper_kernel<T, Shape>, static_cast<unsigned>(clusters * Shape::cluster),
                  Shape::cluster, kThreadCount, Shape::bytes, mapped, units_m, tiles_n);
}

// How long a shape takes, up to a factor: rounds of tiles, and some columns' time for what lies between two.
template <typename Shape>
int cost_of(Device device, const WeightPlan& plan) {
  constexpr int kBetween = 16;
  const int64_t units = (plan.m + kTileM * Shape::cluster - 1) / (kTileM * Shape::cluster);
  const int64_t clusters = runtime(device).multiprocessors / Shape::cluster;
  return static_cast<int>((units * tiles_of_plan<Shape::n>(plan) + clusters - 1) / clusters) * (Shape::n + kBetween);
}

template <typename T>
void multiply(Device device, const WeightPlan& plan) {
  const auto cheaper = [&](auto wide, auto narrow) {
    using Wide = decltype(wide);
    using Narrow = decltype(narrow);
    cost_of<Wide>(device, plan) <= cost_of<Narrow>(device, plan) ? launch<T, Wide>(device, plan)
                                                                 : launch<T, Narrow>(device, plan);
  };
  const bool pairs = (plan.m + kTileM - 1) / kTileM % 2 == 0;
  pairs ? cheaper(HopperShape<192, 2>{}, HopperShape<128, 2>{}) : cheaper(HopperShape<192, 1>{}, HopperShape<128, 1>{});
}

}  // namespace

bool fits_hopper(const Runtime& use, const WeightPlan& plan) { return plan.m > kTileM / 2 && fits_maps(use, plan); }

void multiply_hopper(Device device, const WeightPlan& plan) {
  plan.dtype == DType::kF16 ? multiply<__half>(device, plan) : multiply<__nv_bfloat16>(device, plan);
}

}  // namespace wick::cuda
