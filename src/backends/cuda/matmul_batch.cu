#include "backends/cuda/dependent_launch.cuh"
#include "backends/cuda/hopper.cuh"
#include "backends/cuda/matmul_mapped.cuh"

// Up to 64 rows of x on Hopper. Each block has some rows of the weights and goes through all of k, so that nothing is
// left to be added up among blocks; the copy engine keeps the memory busy.
namespace wick::cuda {
namespace {

constexpr int kGroups = 2;  // of four warps that multiply, each with half of the weights; one more warp fetches
constexpr int kThreadCount = kGroups * 128 + 32;
constexpr int kMostRows = 64, kMostStages = 12, kRoom = 226 * 1024;

// A tile of kN rows of weights. Parts of k are multiplied kLanes at a time, side by side, because within a part each
// product has to wait for the one before it. kShare blocks of a cluster, with tiles next to each other, fetch x
// together: of each stage one of them does it for all.
template <int kN, int kLanes, int kShare>
struct BatchShape {
  static constexpr int n = kN, lanes = kLanes, share = kShare;
};

// A stage: x [lanes, x_rows, 64], then the weights [lanes, kN, 64]. Rows of a product's first side that are not there
// are whatever lies behind x, and their results go nowhere.
struct BatchRing {
  int x_rows, stages, tiles;
};

template <typename T, typename Shape>
__global__ void __launch_bounds__(kThreadCount, 1)
    batch_kernel(const __grid_constant__ MappedPlan mapped, const BatchRing shape) {
#if WICK_HOPPER
  constexpr int kN = Shape::n, kLanes = Shape::lanes, kShare = Shape::share;
  constexpr int kHalf = kN / kGroups;  // rows of weights of a group
  extern __shared__ char memory[];
  __shared__ uint64_t barriers[2 * kMostStages];
  const WeightPlan& plan = mapped.plan;
  const uint32_t ring = held((shared_address(memory) + kSwizzleBytes - 1) / kSwizzleBytes * kSwizzleBytes);
  const uint32_t full = held(shared_address(barriers)), empty = full + kMostStages * 8;
  const uint32_t x_bytes = shape.x_rows * 128, stage_bytes = kLanes * (x_bytes + kN * 128), stages = shape.stages;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const uint32_t rank = kShare > 1 ? cluster_rank() : 0;
  // Rounds of kLanes parts. What lies behind k is read as zeros.
  const auto k = static_cast<int>(plan.k), part = static_cast<int>(part_size(k)), per_part = part / kBoxColumns;
  const int rounds = (k + kLanes * part - 1) / (kLanes * part);
  const int tile_step = static_cast<int>(gridDim.x);
  const int end_tile = shape.tiles + static_cast<int>(rank);  // some blocks of a cluster may have a tile too many
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
    if (++round < rounds) return;
    round = 0;
    tile += tile_step;
  };
  const auto fetch_weights = [&] {
    const MappedTile place = mapped_tile<kN>(plan, tile);
    const uint32_t barrier = full + stage * 8, to = ring + stage * stage_bytes + kLanes * x_bytes;
    arrive_and_expect(barrier, static_cast<int>(stage_bytes));
#pragma unroll
    for (int i = 0; i < kLanes; ++i) {
      const int column = (round * kLanes + i) * part + step * kBoxColumns;
      if (!plan.gated) {
        fetch_box(to + i * kN * 128, mapped.weights[place.job], place.first_row, column, barrier);
      } else {
#pragma unroll
        for (int j = 0; j < 4; ++j) {  // gate and up of the first group, then of the second
          fetch_box(to + (i * 4 + j) * (kN / 4) * 128, mapped.weights[j % 2], place.first_row + j / 2 * (kN / 4),
                    column, barrier);
        }
      }
    }
  };
  const auto fetch_x = [&] {
    if (stage % kShare != rank) return;
#pragma unroll
    for (int i = 0; i < kLanes; ++i) {
      const uint32_t barrier = full + stage * 8, to = ring + stage * stage_bytes + i * x_bytes;
      const int column = (round * kLanes + i) * part + step * kBoxColumns;
      if constexpr (kShare == 1) {
        fetch_box(to, mapped.x, 0, column, barrier);
      } else {
        fetch_box_for((1 << kShare) - 1, to, mapped.x, 0, column, barrier);
      }
    }
  };
  // Weights for the whole ring are on their way before x is there.
  const auto fill_ring = [&](const auto& fetch) {
    tile = static_cast<int>(blockIdx.x);
    round = step = 0;
    stage = parity = 0;
    while (parity == 0 && tile < end_tile) {
      fetch();
      advance();
    }
  };

  let_next_start();
  if (fetches) {
    for (uint32_t i = 0; i < stages; ++i) {
      init_barrier(full + i * 8, 1);
      init_barrier(empty + i * 8,
                   kGroups * 4 * (i % kShare == rank ? kShare : 1));  // a lane of each warp that reads it
    }
    publish_barriers();
    if (!plan.steady) wait_for_previous();
    fill_ring(fetch_weights);
  }
  __syncwarp();
  kShare > 1 ? sync_cluster() : __syncthreads();
  wait_for_previous();

  if (warp == kGroups * 4) {
    if (fetches) {
      fill_ring(fetch_x);
      while (tile < end_tile) {
        wait_barrier(empty + stage * 8, parity ^ 1);
        fetch_weights();
        fetch_x();
        advance();
      }
    }
    __syncwarp();
  } else {
    const int group = warp / 4;
    const auto release = [&](uint32_t of) {
      if (lane == 0) arrive(empty + of * 8);
      if (kShare > 1 && lane == 1 && of % kShare != rank) arrive_at(in_block(empty + of * 8, of % kShare));
    };
    for (; tile < end_tile; tile += tile_step) {
      float total[kHalf / 2] = {}, sum[kLanes][kHalf / 2];
#pragma unroll
      for (auto& of : sum) {
#pragma unroll
        for (float& value : of) value = 0;
      }
#pragma unroll 1
      for (int i = 0; i < rounds; ++i) {
        uint32_t before = stage;
#pragma unroll 1
        for (int at = 0; at < per_part; ++at) {
          wait_barrier(full + stage * 8, parity);
          const uint32_t x = describe(ring + stage * stage_bytes);
          const uint32_t weights = x + (kLanes * x_bytes + group * kHalf * 128) / 16;
          begin_products();
#pragma unroll
          for (uint32_t column = 0; column < kBoxColumns / 16; ++column) {
#pragma unroll
            for (uint32_t j = 0; j < kLanes; ++j) {
              multiply_async<T, kHalf>(sum[j], x + j * (x_bytes / 16) + column * 2, weights + j * (kN * 8) + column * 2,
                                       at > 0 || column > 0);
            }
          }
          end_products();
          if (at > 0) {
            wait_products<1>();
            release(before);
          }
          before = stage;
          advance_stage();
        }
        wait_products<0>();
        release(before);
#pragma unroll
        for (const auto& of : sum) {
#pragma unroll
          for (int e = 0; e < kHalf / 2; ++e) total[e] += of[e];
        }
      }
      const MappedTile place = mapped_tile<kN>(plan, tile);
      const int first_row = place.first_row + group * (plan.gated ? kHalf / 2 : kHalf);
      Target<T>(mapped, place.job).store_all(warp % 4 * 16 + lane / 4, first_row + lane % 4 * 2, total);
    }
  }
  if constexpr (kShare > 1) sync_cluster();  // nobody's memory goes while others fetch to it
#endif
}

template <typename T, typename Shape>
void launch(Device device, const WeightPlan& plan) {
  BatchRing ring;
  ring.x_rows = static_cast<int>((plan.m + 7) / 8 * 8);
  ring.tiles = all_mapped_tiles<Shape::n>(plan);
  const int stage = Shape::lanes * (ring.x_rows + Shape::n) * 128;
  ring.stages = std::min(kMostStages, (kRoom - kSwizzleBytes) / stage) / Shape::share * Shape::share;
  const int bytes = kSwizzleBytes + std::max(ring.stages * stage, (ring.stages - 1) * stage + kMostRows * 128);
  const MappedPlan mapped = map_plan(device, plan, ring.x_rows, plan.gated ? Shape::n / 4 : Shape::n);
  allow_shared<batch_kernel<T, Shape>>(device, kRoom);
  const int clusters =
      std::min((ring.tiles + Shape::share - 1) / Shape::share, runtime(device).multiprocessors / Shape::share);
  launch_clusters(device, "matmul", batch_kernel<T, Shape>, static_cast<unsigned>(clusters * Shape::share),
                  Shape::share, kThreadCount, static_cast<size_t>(bytes), mapped, ring);
}

// The smallest tiles of which every multiprocessor has one at most; many more weights are taken in large ones.
template <typename T>
void multiply(Device device, const WeightPlan& plan) {
  const int blocks = runtime(device).multiprocessors;
  const auto take = [&](auto shape, bool last = false) {
    using Shape = decltype(shape);
    if (plan.gated && Shape::n % 32 != 0) return false;
    if (!last && all_mapped_tiles<Shape::n>(plan) > blocks) return false;
    launch<T, Shape>(device, plan);
    return true;
  };
  take(BatchShape<32, 4, 1>{}) || take(BatchShape<48, 4, 1>{}) || take(BatchShape<64, 2, 1>{}) ||
      take(BatchShape<96, 2, 1>{}) || take(BatchShape<192, 1, 1>{}, true);
}

}  // namespace

bool fits_batch(const Runtime& use, const WeightPlan& plan) { return plan.m <= kMostRows && fits_maps(use, plan); }

void multiply_batch(Device device, const WeightPlan& plan) {
  plan.dtype == DType::kF16 ? multiply<__half>(device, plan) : multiply<__nv_bfloat16>(device, plan);
}

}  // namespace wick::cuda
