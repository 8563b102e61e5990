#include "backends/cuda/quant/plane_tiles.cuh"

// Many rows of x against packed weights on Hopper, with planes of codes instead of blocks. Persistent blocks take one
// tile after the other: one warp fetches, two warpgroups multiply 64 rows of x each with 96 rows of weights. While
// one set of sums is scaled and added up, the tensor cores make the next. The results are those of the other kernels,
// to the same bits.
namespace wick::cuda {
namespace {

constexpr int kThreadCount = (kPlaneGroups + 1) * 128;

#if WICK_HOPPER
// What a warpgroup does. Sums are those of a thread as multiply_async leaves them.
template <typename Shape>
class PlaneGroup {
  static constexpr int kCount = kPlaneTile / 2, kPairs = kPlaneTile / 8;
  using Scales = typename Shape::Scales;
  using XScales = typename Shape::XScales;
  using Sum = std::conditional_t<Shape::kBy32, float, int>;

 public:
  __device__ __forceinline__ PlaneGroup(const PlanePlan& plan, const PlaneMemory<Shape>& memory, int rank)
      : plan_(plan),
        memory_(memory),
        rank_(rank),
        x_(describe(uniform(memory.stages + threadIdx.x / 128 * (Shape::x_bytes / kPlaneGroups)))),
        weights_(describe(memory.stages + Shape::x_bytes)) {}

  // All tiles of the block. No products are under way from one round of a loop to the next: the compiler would wait for
  // them at every step.
  __device__ __forceinline__ void run() {
    if constexpr (Shape::kBy32) {
      while (behind_.is_inside()) {
        add_groups();
        end_super_block();
      }
    } else {
      if (!behind_.is_inside()) return;
      SuperBlockWalk<Shape> ahead = behind_;
      wait_super_block();
      start_plane(two_, 1);
      finish_super_block(true);
      // Behind the last super-block the tensor cores once more multiply what was there before, for nothing.
      bool more = true;
      while (more) {
        ahead.advance();
        more = ahead.is_inside();
        const FirstScales first = read_scales();
        if (more) wait_super_block();
        start_plane(two_, 1);
        add_super_block(first);
        end_super_block();
        finish_super_block(more);
      }
    }
  }

 private:
  // The same in all lanes, and known to be.
  static __device__ __forceinline__ uint32_t uniform(uint32_t number) { return __reduce_max_sync(0xffffffffu, number); }
  static constexpr uint32_t kStageStep = Shape::stage_bytes / 16;  // of descriptions

  __device__ __forceinline__ void wait_stage(const PipelineState<Shape::stages>& state) const {
    wait_barrier(memory_.of_stages.full(state.at), state.parity);
  }
  __device__ __forceinline__ void leave_stage() {
    const uint32_t lane = threadIdx.x % 32, barrier = memory_.of_stages.empty(state_.at);
    if constexpr (Shape::cluster > 1) {
      if (lane < Shape::cluster) arrive_at(in_block(barrier, lane));
    } else {
      if (lane == 0) arrive(barrier);
    }
    state_.advance();
  }
  __device__ __forceinline__ const char* wait_scales() const {
    wait_barrier(memory_.of_scales.full(scale_state_.at), scale_state_.parity);
    return memory_.tile_scales + scale_state_.at * Shape::scale_bytes;
  }
  __device__ __forceinline__ void release_scales() {
    __syncwarp();
    if (threadIdx.x % 32 == 0) arrive(memory_.of_scales.empty(scale_state_.at));
    scale_state_.advance();
  }
  // This thread's first row of x; the other is 8 behind it.
  static __device__ __forceinline__ const XScales* x_rows(const char* tile_scales) {
    return reinterpret_cast<const XScales*>(tile_scales) + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
  }

  // The super-block whose sums are in sum_.
  __device__ __forceinline__ void end_super_block() {
    const bool ends_tile = behind_.ends_tile();
    if (++in_part_ == super_blocks_of_part(plan_.super_blocks) || ends_tile) {
      in_part_ = 0;
#pragma unroll
      for (int e = 0; e < kCount; ++e) {
        total_[e] += sum_[e];
        sum_[e] = 0;
      }
    }
    if (ends_tile) store();
    behind_.advance();
  }
  __device__ __forceinline__ void store() {
    const UnitPlace place = behind_.place();
    const int row =
        (place.unit_m * Shape::cluster + rank_) * kPlaneTokens + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
    const TilePlace weights = place_of_tile<kPlaneTile>(plan_.mapped.plan, place.tile_n);
    const int column = weights.first_row + threadIdx.x % 4 * 2;
    if (plan_.mapped.plan.out_dtype == DType::kF16) {
      Target<__half>(plan_.mapped, weights.job).store_all(row, column, total_);
    } else {
      Target<__nv_bfloat16>(plan_.mapped, weights.job).store_all(row, column, total_);
    }
#pragma unroll
    for (float& of : total_) of = 0;
  }

  // Of formats by 256, a super-block of two boxes.
  __device__ __forceinline__ void wait_super_block() const {
    PipelineState<Shape::stages> state = state_;
    wait_stage(state);
    state.advance();
    wait_stage(state);
  }
  __device__ __forceinline__ void start_plane(Sum (&to)[kCount], uint32_t plane) {
    PipelineState<Shape::stages> state[2] = {state_, state_};
    state[1].advance();
    begin_products();
#pragma unroll
    for (uint32_t i = 0; i < 8; ++i) {
      const uint32_t at = state[i / 4].at * kStageStep + i % 4 * 2;
      multiply_bytes_async(to, x_ + at, weights_ + plane * (Shape::plane_bytes / 16) + at, i > 0);
    }
    end_products();
  }
  // Once products with the second plane are under way.
  __device__ __forceinline__ void finish_super_block(bool is_there) {
    start_plane(one_, 0);
    wait_products<0>();
    hold_products(one_);
    hold_products(two_);
    if (is_there) {
      leave_stage();
      leave_stage();
    }
#pragma unroll
    for (int e = 0; e < kCount; ++e) one_[e] += two_[e] * 64;
  }

  // What a super-block is scaled with: of x, and the first ones of weights, read while others have the tensor cores.
  struct FirstScales {
    static constexpr int kAhead = 3, kEights = Shape::kMinima / 8 > 1 ? Shape::kMinima / 8 : 1;  // of minima
    const Scales* tile_scales;
    float x_scales[2];
    uint16_t x_sums[kEights][4];  // two bytes each: low ones of parts 2t and 2t + 1 of both rows, then high ones
    float4 scales[kAhead];
    __half2 mins[kAhead][kEights];
  };
  static __device__ __forceinline__ float4 scales_of(const Scales& tile_scales, int j) {
    return *reinterpret_cast<const float4*>(tile_scales.scales + j * 8 + threadIdx.x % 4 * 2);
  }
  static __device__ __forceinline__ __half2 mins_of(const Scales& tile_scales, int j, int eight) {
    return *reinterpret_cast<const __half2*>(tile_scales.mins[j * 8 + threadIdx.x % 32 / 4] + eight * 8 +
                                             threadIdx.x % 4 * 2);
  }
  __device__ __forceinline__ FirstScales read_scales() const {
    const char* const at = wait_scales();
    const XScales* const x = x_rows(at);
    FirstScales first;
    first.tile_scales = reinterpret_cast<const Scales*>(at + Shape::x_scale_bytes);
    first.x_scales[0] = x[0].scale;
    first.x_scales[1] = x[8].scale;
#pragma unroll
    for (int j = 0; j < FirstScales::kAhead; ++j) first.scales[j] = scales_of(*first.tile_scales, j);
    if constexpr (Shape::kMinima > 0) {
#pragma unroll
      for (int eight = 0; eight < FirstScales::kEights; ++eight) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          first.x_sums[eight][i] = reinterpret_cast<const uint16_t*>(
              i < 2 ? x[i % 2 * 8].low : x[i % 2 * 8].high)[eight * 4 + threadIdx.x % 4];
        }
#pragma unroll
        for (int j = 0; j < FirstScales::kAhead; ++j) first.mins[j][eight] = mins_of(*first.tile_scales, j, eight);
      }
    }
    return first;
  }
  // What is in one_, to the sum.
  __device__ __forceinline__ void add_super_block(const FirstScales& first) {
    const Scales& tile_scales = *first.tile_scales;
    uint32_t x_sums[FirstScales::kEights][4];
    if constexpr (Shape::kMinima > 0) {
#pragma unroll
      for (int i = 0; i < 4 * FirstScales::kEights; ++i) x_sums[i / 4][i % 4] = halves_of(first.x_sums[i / 4][i % 4]).x;
    }
#pragma unroll
    for (int j = 0; j < kPairs; ++j) {
      const float4 by = j < FirstScales::kAhead ? first.scales[j] : scales_of(tile_scales, j);
      float minima[4] = {};
      if constexpr (Shape::kMinima > 0) {
#pragma unroll
        for (int eight = 0; eight < FirstScales::kEights; ++eight) {
          const __half2 mins = j < FirstScales::kAhead ? first.mins[j][eight] : mins_of(tile_scales, j, eight);
          mma<__half>(minima, x_sums[eight], pack_pair(mins), pack_pair(__hmul2(mins, __float2half2_rn(64))));
        }
      }
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const float sum = static_cast<float>(one_[j * 4 + e]), scale = e % 2 ? by.z : by.x;
        const float value =
            Shape::kMinima > 0 ? less_minima(sum, scale, minima[e], e % 2 ? by.w : by.y) : __fmul_rn(sum, scale);
        sum_[j * 4 + e] = __fmaf_rn(value, first.x_scales[e / 2], sum_[j * 4 + e]);
      }
    }
    release_scales();
  }

  // Of formats by 32: products of a group of a super-block, of which each box has two.
  __device__ __forceinline__ void start_group(Sum (&to)[kCount], const PipelineState<Shape::stages>& state,
                                              uint32_t group) {
    if (group % 2 == 0) wait_stage(state);
    begin_products();
#pragma unroll
    for (uint32_t i = 0; i < 2; ++i) {
      const uint32_t at = state.at * kStageStep + (group % 2 * 2 + i) * 2;
      multiply_async<__half, kPlaneTile>(to, x_ + at, weights_ + at, i > 0);
    }
    end_products();
  }

  // What a group's sums are multiplied with, read while those of the group before it are.
  struct NextScales {
    float x_scales[2];
    float4 steps[kPairs / 2];
  };
  static __device__ __forceinline__ float4 four_of(const float (&tile_scales)[kPlaneTile], int j) {
    return *reinterpret_cast<const float4*>(tile_scales + j * 8 + threadIdx.x % 4 * 4);
  }
  __device__ __forceinline__ void add_group(const Sum (&of)[kCount], const XScales* x, const Scales& tile_scales,
                                            int group, NextScales& next) {
    const bool more = group + 1 < kSuperBlockGroups;
    const float x_scales[2] = {next.x_scales[0], next.x_scales[1]}, x_sums[2] = {x[0].sum(group), x[8].sum(group)};
    if (more) {
      next.x_scales[0] = x[0].scales[group + 1];
      next.x_scales[1] = x[8].scales[group + 1];
    }
#pragma unroll
    for (int j = 0; j < kPairs; j += 2) {
      const float4 steps = next.steps[j / 2];
      if (more) next.steps[j / 2] = four_of(tile_scales.steps[group + 1], j);
      float4 mins{};
      if constexpr (Shape::kMinima > 0) mins = four_of(tile_scales.mins[group], j);
#pragma unroll
      for (int e = 0; e < 8; ++e) {
        const int i = e / 4 * 2 + e % 2, row = e / 2 % 2;
        const float step = i == 0 ? steps.x : i == 1 ? steps.y : i == 2 ? steps.z : steps.w;
        const float min = i == 0 ? mins.x : i == 1 ? mins.y : i == 2 ? mins.z : mins.w;
        float& sum = sum_[j * 4 + e];
        sum = __fmaf_rn(of[j * 4 + e], __fmul_rn(step, x_scales[row]), sum);
        if constexpr (Shape::kMinima > 0) sum = __fmaf_rn(min, x_sums[row], sum);
      }
    }
  }

  __device__ __forceinline__ void add_groups() {
    PipelineState<Shape::stages> ahead = state_;
    start_group(one_, ahead, 0);
    const char* const at = wait_scales();
    const auto& tile_scales = *reinterpret_cast<const Scales*>(at + Shape::x_scale_bytes);
    const XScales* const x = x_rows(at);
    NextScales next{{x[0].scales[0], x[8].scales[0]}, {}};
#pragma unroll
    for (int j = 0; j < kPairs; j += 2) next.steps[j / 2] = four_of(tile_scales.steps[0], j);
#pragma unroll
    for (int group = 0; group < kSuperBlockGroups; ++group) {
      Sum(&of)[kCount] = group % 2 ? two_ : one_;
      if (group + 1 < kSuperBlockGroups) {
        if (group % 2) ahead.advance();
        start_group(group % 2 ? one_ : two_, ahead, group + 1);
        wait_products<1>();
      } else {
        wait_products<0>();
      }
      if (group % 2) leave_stage();
      hold_products(of);
      add_group(of, x, tile_scales, group, next);
    }
    release_scales();
  }

  const PlanePlan& plan_;
  PlaneMemory<Shape> memory_;
  int rank_;
  uint32_t x_, weights_;  // descriptions of the first stage's
  SuperBlockWalk<Shape> behind_{plan_};
  int in_part_ = 0;  // super-blocks of the part
  PipelineState<Shape::stages> state_;
  PipelineState<Shape::scale_slots> scale_state_;
  Sum one_[kCount], two_[kCount];  // by 256: low and high, then the value in one_; by 32: of groups by turns
  float sum_[kCount] = {}, total_[kCount] = {};  // of the part and of those before it
};
#endif

template <typename Shape>
__global__ void __launch_bounds__(kThreadCount, 1) packed_hopper_kernel(const __grid_constant__ PlanePlan plan) {
#if WICK_HOPPER
  extern __shared__ char memory[];
  __shared__ uint64_t barriers[2 * (Shape::stages + Shape::scale_slots)];
  const uint32_t ring = held((shared_address(memory) + kSwizzleBytes - 1) / kSwizzleBytes * kSwizzleBytes);
  const uint32_t first_barrier = held(shared_address(barriers));
  const PlaneMemory<Shape> of{ring,
                              memory + (ring - shared_address(memory)) + Shape::stages * Shape::stage_bytes,
                              {first_barrier},
                              {first_barrier + 2 * Shape::stages * 8}};
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = warp / 4;
  const int rank = Shape::cluster > 1 ? static_cast<int>(cluster_rank()) : 0;
  launch_dependents();
  if (threadIdx.x == 0) {
    of.of_stages.init(kPlaneGroups * 4 * Shape::cluster);  // a lane of each warp that reads what was fetched here
    of.of_scales.init(kPlaneGroups * 4);
    publish_barriers();
  }
  Shape::cluster > 1 ? sync_cluster() : __syncthreads();
  wait_for_prerequisites();
  if (group == kPlaneGroups) {
    give_registers<24>();
    if (warp == kPlaneGroups * 4 && lane == 0) fetch_tiles<Shape>(plan, of, rank);
  } else {
    take_registers<240>();
    PlaneGroup<Shape>(plan, of, rank).run();
  }
  if constexpr (Shape::cluster > 1) sync_cluster();  // nobody's memory goes while others fetch to it
#endif
}

template <typename Shape>
void launch(Device device, const WeightPlan& plan) {
  const Runtime& use = runtime(device);
  constexpr bool kBy32 = Shape::kBy32;
  PlanePlan tiles{};
  tiles.super_blocks = super_blocks_of(plan.k);
  tiles.tiles_n = tiles_of_plan<kPlaneTile>(plan);
  if (tiles.tiles_n == 0) return;
  tiles.units_m = static_cast<int>((plan.m + kPlaneTokens * Shape::cluster - 1) / (kPlaneTokens * Shape::cluster));
  tiles.padded_m = int64_t{tiles.units_m} * kPlaneTokens * Shape::cluster;
  const int64_t columns = packed_columns(plan.k) * kCodeBytes<kBy32> / 2;  // as TMA sees them, in pairs of bytes
  const int64_t rows = int64_t{tiles.tiles_n} * kPlaneTile;
  const PlaneRows x(device, plan, tiles.padded_m);
  const Scratch planes(device, static_cast<size_t>(rows * kPlanes<kBy32> * columns * 2));
  const Scratch tile_scales(
      device, static_cast<size_t>(int64_t{tiles.super_blocks} * tiles.tiles_n) * sizeof(typename Shape::Scales));
  unpack_planes(device, plan, rows, planes.as<char>(), tile_scales.as<char>());
  tiles.x_scale_rows = x.scales.as<const char>();
  tiles.tile_scales = tile_scales.as<const char>();
  tiles.mapped.plan = plan;
  tiles.mapped.by_pair = can_store_pairs(plan);
  tiles.mapped.x = map_rows(device, x.codes.as<void>(), DType::kF16, plan.m, columns, columns, kPlaneTokens);
  tiles.mapped.weights[0] =
      map_rows(device, planes.as<void>(), DType::kF16, rows * kPlanes<kBy32>, columns, columns, kPlaneTile / 2);
  const int clusters = std::min(tiles.units_m * tiles.tiles_n, use.multiprocessors / Shape::cluster);
  allow_shared<packed_hopper_kernel<Shape>>(device, Shape::bytes);
  launch_clusters(device, "matmul", packed_hopper_kernel<Shape>, static_cast<unsigned>(clusters * Shape::cluster),
                  Shape::cluster, kThreadCount, Shape::bytes, tiles);
}

}  // namespace

void multiply_packed_hopper(Device device, const WeightPlan& plan) {
  visit_codes(plan.dtype, [&](auto block) {
    using Format = Codes<decltype(block)>;
    const bool pairs = (plan.m + kPlaneTokens - 1) / kPlaneTokens % 2 == 0;
    pairs ? launch<PlaneShape<Format::kBy32, kMinimaOf<Format>, 2>>(device, plan)
          : launch<PlaneShape<Format::kBy32, kMinimaOf<Format>, 1>>(device, plan);
  });
}

}  // namespace wick::cuda
