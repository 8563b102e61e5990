#pragma once

#include "backends/cuda/gemm/matmul_mapped.cuh"
#include "backends/cuda/gemm/ring.cuh"
#include "backends/cuda/quant/packed_planes.cuh"
#include "backends/cuda/quant/packed_product.cuh"

// How the blocks of matmul_packed_hopper.cu share the work, and how what they need comes to shared memory.
namespace wick::cuda {

inline constexpr int kPlaneGroups = 2;                  // warpgroups that multiply
inline constexpr int kPlaneTokens = kPlaneGroups * 64;  // rows of x of a tile
inline constexpr int kBoxBytes = 128;                   // of a row

struct PlanePlan {
  MappedPlan mapped;  // x in codes, the planes as weights[0]
  int tiles_n, units_m, super_blocks;
  int64_t padded_m;  // rows of x_scale_rows of a super-block
  const char *x_scale_rows,
      *tile_scales;  // [super_blocks, padded_m] of InputScales, [super_blocks, tiles_n] of TileScales
};

// kCluster: two blocks of a cluster have the same weights and fetch half of their rows each.
template <bool kBy32_, int kMinima_, int kCluster>
struct PlaneShape {
  static constexpr bool kBy32 = kBy32_;
  static constexpr int kMinima = kMinima_, cluster = kCluster;
  using Scales = TileScales<kBy32, kMinima>;
  using XScales = InputScales<kBy32, (kMinima > 0 ? kMinima : kBy32 ? 0 : 16)>;
  static constexpr int x_bytes = kPlaneTokens * kBoxBytes, half_bytes = kPlaneTile / 2 * kBoxBytes,
                       plane_bytes = 2 * half_bytes;
  static constexpr int stage_bytes = x_bytes + kPlanes<kBy32> * plane_bytes;
  static constexpr int boxes = kSuperBlock * kCodeBytes<kBy32> / kBoxBytes;  // of a super-block
  static constexpr int x_scale_bytes = kPlaneTokens * static_cast<int>(sizeof(XScales));
  static constexpr int scale_bytes = x_scale_bytes + static_cast<int>(sizeof(Scales));
  static constexpr int stages = kBy32 ? 7 : 5, scale_slots = (kBy32 && kMinima > 0) || kMinima == 16 ? 2 : 3;
  static constexpr int bytes = stages * stage_bytes + scale_slots * scale_bytes + kSwizzleBytes;
  static_assert(boxes == (kBy32 ? kSuperBlockGroups / 2 : 2) && half_bytes % kSwizzleBytes == 0 &&
                scale_bytes % 16 == 0 && bytes <= 226 * 1024);
};

#if WICK_HOPPER
// Where a block finds and puts what.
template <typename Shape>
struct PlaneMemory {
  uint32_t stages;
  const char* tile_scales;
  RingBarriers<Shape::stages> of_stages;
  RingBarriers<Shape::scale_slots> of_scales;
};

// The super-blocks of a block's tiles, one after the other.
template <typename Shape>
struct SuperBlockWalk {
  const PlanePlan& plan;
  int unit = static_cast<int>(blockIdx.x) / Shape::cluster, super_block = 0;

  __device__ __forceinline__ bool is_inside() const { return unit < plan.units_m * plan.tiles_n; }
  __device__ __forceinline__ bool ends_tile() const { return super_block + 1 == plan.super_blocks; }
  __device__ __forceinline__ void advance() {
    if (++super_block < plan.super_blocks) return;
    super_block = 0;
    unit += static_cast<int>(gridDim.x) / Shape::cluster;
  }
  __device__ __forceinline__ UnitPlace place() const {
    return place_of_unit<Shape::cluster>(unit, plan.units_m, plan.tiles_n);
  }
};

template <typename Shape>
__device__ __forceinline__ void fetch_tiles(const PlanePlan& plan, const PlaneMemory<Shape>& memory, int rank) {
  PipelineState<Shape::stages> state;
  PipelineState<Shape::scale_slots> scale_state;
  const CUtensorMap &x = plan.mapped.x, &planes = plan.mapped.weights[0];
  UnitPlace place{};
  int first_m = 0;
  for (SuperBlockWalk<Shape> walk{plan}; walk.is_inside(); walk.advance()) {
    if (walk.super_block == 0) {
      place = walk.place();
      first_m = (place.unit_m * Shape::cluster + rank) * kPlaneTokens;
    }
    const uint32_t scale_barrier = memory.of_scales.full(scale_state.at);
    const uint32_t scale_to = shared_address(memory.tile_scales) + scale_state.at * Shape::scale_bytes;
    wait_barrier(memory.of_scales.empty(scale_state.at), scale_state.parity ^ 1);
    arrive_and_expect(scale_barrier, Shape::scale_bytes);
    fetch_bytes(
        scale_to,
        plan.x_scale_rows + (walk.super_block * plan.padded_m + first_m) * int64_t{sizeof(typename Shape::XScales)},
        Shape::x_scale_bytes, scale_barrier);
    fetch_bytes(scale_to + Shape::x_scale_bytes,
                plan.tile_scales +
                    (int64_t{walk.super_block} * plan.tiles_n + place.tile_n) * int64_t{sizeof(typename Shape::Scales)},
                sizeof(typename Shape::Scales), scale_barrier);
    scale_state.advance();
    for (int box = 0; box < Shape::boxes; ++box) {
      const uint32_t barrier = memory.of_stages.full(state.at), to = memory.stages + state.at * Shape::stage_bytes;
      const int column = (walk.super_block * Shape::boxes + box) * kBoxColumns;
      wait_barrier(memory.of_stages.empty(state.at), state.parity ^ 1);
      arrive_and_expect(barrier, Shape::stage_bytes);
      fetch_box(to, x, first_m, column, barrier);
#pragma unroll
      for (int i = 0; i < 2 * kPlanes<Shape::kBy32>; ++i) {
        const int row = (i / 2 * plan.tiles_n + place.tile_n) * kPlaneTile + i % 2 * (kPlaneTile / 2);
        const uint32_t half = to + Shape::x_bytes + i * Shape::half_bytes;
        if constexpr (Shape::cluster > 1) {
          if (i % 2 == rank) fetch_box_for(3, half, planes, row, column, barrier);
        } else {
          fetch_box(half, planes, row, column, barrier);
        }
      }
      state.advance();
    }
  }
}

#endif

}  // namespace wick::cuda
