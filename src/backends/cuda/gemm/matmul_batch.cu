#include "backends/cuda/gemm/hopper.cuh"
#include "backends/cuda/gemm/matmul_mapped.cuh"
#include "backends/cuda/runtime/dependent_launch.cuh"

// Up to 64 rows of x on Hopper. Each block has some rows of the weights and goes through all of k, so that nothing is
// left to be added up among blocks; TMA keeps the memory busy.
namespace wick::cuda {
namespace {

constexpr int kGroups = 2;  // warpgroups that multiply; one more warp fetches
constexpr int kThreadCount = kGroups * 128 + 32;
constexpr int kMostRows = 64, kMostStages = 12, kRoom = 226 * 1024;

// A tile of kN rows of weights. Parts of k are multiplied kLanes at a time, side by side, because within a part each
// product has to wait for the one before it. Small tiles: each group has half of the parts, because a product takes its
// time however few rows it has. Large ones: each group has half of the rows.
template <int kN, int kLanes>
struct BatchShape {
  static constexpr int n = kN, lanes = kLanes;
  static constexpr bool by_part = kN <= 64;
  static constexpr int rows = by_part ? kN : kN / kGroups;  // of weights in a group's products
  static constexpr int boxes = by_part ? 2 : 4;             // that a gated tile is fetched in
  static constexpr int passed_bytes = by_part ? rows / 2 * 128 * 4 : 0;
};

// A stage: x [lanes, x_rows, 64], then the weights [lanes, kN, 64]. Rows of a product's first side that are not there
// are whatever lies behind x, and their results go nowhere.
struct BatchRing {
  int x_rows, stages, tiles;
};

#if WICK_HOPPER
__device__ __forceinline__ void sync_groups(int barrier) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "n"(kGroups * 128) : "memory");
}
#endif

template <typename T, typename Shape>
__global__ void __launch_bounds__(kThreadCount, 1)
    batch_kernel(const __grid_constant__ MappedPlan mapped, const BatchRing shape) {
#if WICK_HOPPER
  constexpr int kN = Shape::n, kLanes = Shape::lanes, kRows = Shape::rows;
  constexpr int kMine = Shape::by_part ? kLanes / kGroups : kLanes;  // lanes of a group
  extern __shared__ char memory[];
  __shared__ uint64_t barriers[2 * kMostStages];
  const WeightPlan& plan = mapped.plan;
  const uint32_t ring = held((shared_address(memory) + kSwizzleBytes - 1) / kSwizzleBytes * kSwizzleBytes);
  const uint32_t full = held(shared_address(barriers)), empty = full + kMostStages * 8;
  const uint32_t x_bytes = shape.x_rows * 128, stage_bytes = kLanes * (x_bytes + kN * 128), stages = shape.stages;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  // Rounds of kLanes parts. What lies behind k is read as zeros.
  constexpr int kRounds = kParts / kLanes;
  const auto part = static_cast<int>(part_size(plan.k)), per_part = part / kBoxColumns;
  const int tile_step = static_cast<int>(gridDim.x);
  const bool fetches = warp == kGroups * 4 && lane == 0;

  // What is fetched or multiplied next.
  int tile = static_cast<int>(blockIdx.x), round = 0, step = 0;
  uint32_t stage = 0, parity = 0;
  const auto advance_stage = [&] {
    if (++stage == stages) {
      stage = 0;
      parity ^= 1;
    }
  };
  const auto advance = [&] {
    advance_stage();
    if (++step < per_part) return;
    step = 0;
    if (++round < kRounds) return;
    round = 0;
    tile += tile_step;
  };
  const auto column_of = [&](int i) {
    const int which = Shape::by_part ? i / kMine * (kParts / kGroups) + round * kMine + i % kMine : round * kLanes + i;
    return which * part + step * kBoxColumns;
  };
  const auto fetch_weights = [&] {
    const TilePlace place = place_of_tile<kN>(plan, tile);
    const uint32_t barrier = full + stage * 8, to = ring + stage * stage_bytes + kLanes * x_bytes;
    arrive_and_expect(barrier, static_cast<int>(stage_bytes));
#pragma unroll
    for (int i = 0; i < kLanes; ++i) {
      if (!plan.gated) {
        fetch_box(to + i * kN * 128, mapped.weights[place.job], place.first_row, column_of(i), barrier);
      } else {
        constexpr int kBoxRows = kN / Shape::boxes;
#pragma unroll
        for (int j = 0; j < Shape::boxes; ++j) {  // gate and up, of one group after the other
          fetch_box(to + (i * Shape::boxes + j) * kBoxRows * 128, mapped.weights[j % 2],
                    place.first_row + j / 2 * kBoxRows, column_of(i), barrier);
        }
      }
    }
  };
  const auto fetch_x = [&] {
#pragma unroll
    for (int i = 0; i < kLanes; ++i) {
      fetch_box(ring + stage * stage_bytes + i * x_bytes, mapped.x, 0, column_of(i), full + stage * 8);
    }
  };
  // Weights for the whole ring are on their way before x is there.
  const auto fill_ring = [&](const auto& fetch) {
    tile = static_cast<int>(blockIdx.x);
    round = step = 0;
    stage = parity = 0;
    while (parity == 0 && tile < shape.tiles) {
      fetch();
      advance();
    }
  };

  launch_dependents();
  if (fetches) {
    for (uint32_t i = 0; i < stages; ++i) {
      init_barrier(full + i * 8, 1);
      init_barrier(empty + i * 8, kGroups * 4);  // a lane of each warp
    }
    publish_barriers();
    if (!plan.steady) wait_for_prerequisites();
    fill_ring(fetch_weights);
  }
  __syncthreads();
  wait_for_prerequisites();

  if (warp == kGroups * 4) {
    if (fetches) {
      fill_ring(fetch_x);
      while (tile < shape.tiles) {
        wait_barrier(empty + stage * 8, parity ^ 1);
        fetch_weights();
        fetch_x();
        advance();
      }
    }
    __syncwarp();
  } else {
    const int group = warp / 4, thread = threadIdx.x % 128;
    float* passed = reinterpret_cast<float*>(memory + (ring - shared_address(memory)) + stages * stage_bytes) + thread;
    // One round of this group's lanes, each from zero.
    const auto multiply_round = [&](float(*sum)[kRows / 2]) {
      uint32_t before = stage;
#pragma unroll 1
      for (int i = 0; i < per_part; ++i) {
        wait_barrier(full + stage * 8, parity);
        const uint32_t first = Shape::by_part ? group * kMine : 0, rows = Shape::by_part ? 0 : group * kRows * 8;
        const uint32_t x = describe(ring + stage * stage_bytes), weights = x + kLanes * x_bytes / 16 + rows;
        begin_products();
#pragma unroll
        for (uint32_t column = 0; column < kBoxColumns / 16; ++column) {
#pragma unroll
          for (uint32_t j = 0; j < kMine; ++j) {
            multiply_async<T, kRows>(sum[j], x + (first + j) * (x_bytes / 16) + column * 2,
                                     weights + (first + j) * (kN * 8) + column * 2, i > 0 || column > 0);
          }
        }
        end_products();
        if (i > 0) {
          wait_products<1>();
          if (lane == 0) arrive(empty + before * 8);
        }
        before = stage;
        advance_stage();
      }
      wait_products<0>();
      if (lane == 0) arrive(empty + before * 8);
    };
    for (; tile < shape.tiles; tile += tile_step) {
      const TilePlace place = place_of_tile<kN>(plan, tile);
      const int row = warp % 4 * 16 + lane / 4;
      int column = place.first_row + lane % 4 * 2;
      float total[kRows / 2] = {};
      if constexpr (Shape::by_part) {
        constexpr int kKept = kParts / kGroups;
        float sum[kKept][kRows / 2] = {};
#pragma unroll
        for (int i = 0; i < kRounds; ++i) multiply_round(sum + i * kMine);
        // The first group's sum of its parts is where the second one starts.
        if (group == 1) {
          sync_groups(1);
#pragma unroll
          for (int e = 0; e < kRows / 2; ++e) total[e] = passed[e * 128];
        }
#pragma unroll
        for (const auto& of : sum) {
#pragma unroll
          for (int e = 0; e < kRows / 2; ++e) total[e] += of[e];
        }
        if (group == 0) {
#pragma unroll
          for (int e = 0; e < kRows / 2; ++e) passed[e * 128] = total[e];
          sync_groups(1);
        }
        sync_groups(2);
        if (group == 0) continue;
      } else {
        float sum[kLanes][kRows / 2] = {};
#pragma unroll 1
        for (int i = 0; i < kRounds; ++i) {
          multiply_round(sum);
#pragma unroll
          for (const auto& of : sum) {
#pragma unroll
            for (int e = 0; e < kRows / 2; ++e) total[e] += of[e];
          }
        }
        column += group * (plan.gated ? kRows / 2 : kRows);
      }
      Target<T>(mapped, place.job).store_all(row, column, total);
    }
  }
#endif
}

template <typename Shape>
int stage_size(int x_rows) {
  return Shape::lanes * (x_rows + Shape::n) * 128;
}
template <typename Shape>
int stage_count(int x_rows) {
  return std::min(kMostStages, (kRoom - kSwizzleBytes - Shape::passed_bytes) / stage_size<Shape>(x_rows));
}

template <typename T, typename Shape>
void launch(Device device, const WeightPlan& plan) {
  const auto x_rows = static_cast<int>((plan.m + 7) / 8 * 8);
  const BatchRing ring{x_rows, stage_count<Shape>(x_rows), tiles_of_plan<Shape::n>(plan)};
  const int stage = stage_size<Shape>(x_rows), last = (ring.stages - 1) * stage;
  const int bytes = kSwizzleBytes + last + std::max(stage + Shape::passed_bytes, kMostRows * 128);
  const MappedPlan mapped = map_plan(device, plan, x_rows, plan.gated ? Shape::n / Shape::boxes : Shape::n);
  allow_shared<batch_kernel<T, Shape>>(device, kRoom);
  const int blocks = std::min(ring.tiles, runtime(device).multiprocessors);
  launch_dependent(device, "matmul", batch_kernel<T, Shape>, static_cast<unsigned>(blocks), kThreadCount,
                   static_cast<size_t>(bytes), mapped, ring);
}

// The smallest tiles of which every multiprocessor has one at most; many more weights are taken in large ones.
template <typename T>
void multiply(Device device, const WeightPlan& plan) {
  // Four lanes, unless that leaves too few stages.
  const auto take_small = [&]<int kN>(std::integral_constant<int, kN>) {
    if (tiles_of_plan<kN>(plan) > runtime(device).multiprocessors) return false;
    constexpr int kLeastStages = 4;
    const bool fits = stage_count<BatchShape<kN, 4>>(static_cast<int>((plan.m + 7) / 8 * 8)) >= kLeastStages;
    fits ? launch<T, BatchShape<kN, 4>>(device, plan) : launch<T, BatchShape<kN, 2>>(device, plan);
    return true;
  };
  if (take_small(std::integral_constant<int, 32>{}) || take_small(std::integral_constant<int, 48>{}) ||
      take_small(std::integral_constant<int, 64>{})) {
    return;
  }
  tiles_of_plan<96>(plan) <= runtime(device).multiprocessors ? launch<T, BatchShape<96, 2>>(device, plan)
                                                             : launch<T, BatchShape<192, 1>>(device, plan);
}

}  // namespace

bool fits_batch(const Runtime& use, const WeightPlan& plan) { return plan.m <= kMostRows && fits_maps(use, plan); }

void multiply_batch(Device device, const WeightPlan& plan) {
  plan.dtype == DType::kF16 ? multiply<__half>(device, plan) : multiply<__nv_bfloat16>(device, plan);
}

}  // namespace wick::cuda
