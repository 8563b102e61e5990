#pragma once

#include "backends/cuda/matmul_mapped.cuh"
#include "backends/cuda/packed_planes.cuh"
#include "backends/cuda/packed_product.cuh"
#include "backends/cuda/ring.cuh"

// How the blocks of matmul_packed_hopper.cu share the work, and how what they need comes to shared memory.
namespace wick::cuda {

inline constexpr int kPlaneGroups = 2;                  // of four warps that multiply
inline constexpr int kPlaneTokens = kPlaneGroups * 64;  // rows of x of a tile
inline constexpr int kBoxBytes = 128;                   // of a row

struct PlanePlan {
  MappedPlan mapped;  // x in codes, the planes as weights[0]
  int tiles_n, units_m, supers;
  int64_t padded_m;             // rows of x_notes of a super
  const char *x_notes, *notes;  // [supers, padded_m] of InputScales, [supers, tiles_n] of TileNotes
};

// kCluster: two blocks of a cluster have the same weights and fetch half of their rows each.
template <bool kBy32_, int kMinima_, int kCluster>
struct PlaneShape {
  static constexpr bool kBy32 = kBy32_;
  static constexpr int kMinima = kMinima_, cluster = kCluster;
  using Notes = TileNotes<kBy32, kMinima>;
  using XNotes = InputScales<kBy32, (kMinima > 0 ? kMinima : kBy32 ? 0 : 16)>;
  static constexpr int x_bytes = kPlaneTokens * kBoxBytes, half_bytes = kPlaneTile / 2 * kBoxBytes,
                       plane_bytes = 2 * half_bytes;
  static constexpr int stage_bytes = x_bytes + kPlanes<kBy32> * plane_bytes;
  static constexpr int boxes = kSuper * kCodeBytes<kBy32> / kBoxBytes;  // of a super
  static constexpr int x_note_bytes = kPlaneTokens * static_cast<int>(sizeof(XNotes));
  static constexpr int note_bytes = x_note_bytes + static_cast<int>(sizeof(Notes));
  static constexpr int stages = kBy32 ? 7 : 5, note_slots = (kBy32 && kMinima > 0) || kMinima == 16 ? 2 : 3;
  static constexpr int bytes = stages * stage_bytes + note_slots * note_bytes + kSwizzleBytes;
  static_assert(boxes == (kBy32 ? kSuperGroups / 2 : 2) && half_bytes % kSwizzleBytes == 0 && note_bytes % 16 == 0 &&
                bytes <= 226 * 1024);
};

#if WICK_HOPPER
// Where a block finds and puts what.
template <typename Shape>
struct PlaneMemory {
  uint32_t stages;
  const char* notes;
  RingBarriers<Shape::stages> of_stages;
  RingBarriers<Shape::note_slots> of_notes;
};

// The supers of a block's tiles, one after the other.
template <typename Shape>
struct SuperWalk {
  const PlanePlan& plan;
  int unit = static_cast<int>(blockIdx.x) / Shape::cluster, super = 0;

  __device__ __forceinline__ bool is_inside() const { return unit < plan.units_m * plan.tiles_n; }
  __device__ __forceinline__ bool ends_tile() const { return super + 1 == plan.supers; }
  __device__ __forceinline__ void advance() {
    if (++super < plan.supers) return;
    super = 0;
    unit += static_cast<int>(gridDim.x) / Shape::cluster;
  }
  __device__ __forceinline__ UnitPlace place() const {
    return place_of_unit<Shape::cluster>(unit, plan.units_m, plan.tiles_n);
  }
};

template <typename Shape>
__device__ __forceinline__ void fetch_tiles(const PlanePlan& plan, const PlaneMemory<Shape>& memory, int rank) {
  Turn<Shape::stages> turn;
  Turn<Shape::note_slots> note_turn;
  const CUtensorMap &x = plan.mapped.x, &planes = plan.mapped.weights[0];
  UnitPlace place{};
  int first_m = 0;
  for (SuperWalk<Shape> walk{plan}; walk.is_inside(); walk.advance()) {
    if (walk.super == 0) {
      place = walk.place();
      first_m = (place.unit_m * Shape::cluster + rank) * kPlaneTokens;
    }
    const uint32_t note_barrier = memory.of_notes.full(note_turn.at);
    const uint32_t note_to = shared_address(memory.notes) + note_turn.at * Shape::note_bytes;
    wait_barrier(memory.of_notes.empty(note_turn.at), note_turn.parity ^ 1);
    arrive_and_expect(note_barrier, Shape::note_bytes);
    fetch_bytes(note_to,
                plan.x_notes + (walk.super * plan.padded_m + first_m) * int64_t{sizeof(typename Shape::XNotes)},
                Shape::x_note_bytes, note_barrier);
    fetch_bytes(
        note_to + Shape::x_note_bytes,
        plan.notes + (int64_t{walk.super} * plan.tiles_n + place.tile_n) * int64_t{sizeof(typename Shape::Notes)},
        sizeof(typename Shape::Notes), note_barrier);
    note_turn.advance();
    for (int box = 0; box < Shape::boxes; ++box) {
      const uint32_t barrier = memory.of_stages.full(turn.at), to = memory.stages + turn.at * Shape::stage_bytes;
      const int column = (walk.super * Shape::boxes + box) * kBoxColumns;
      wait_barrier(memory.of_stages.empty(turn.at), turn.parity ^ 1);
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
      turn.advance();
    }
  }
}

#endif

}  // namespace wick::cuda
