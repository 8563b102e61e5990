#include "backends/cuda/hopper.cuh"
#include "backends/cuda/packed_product.cuh"
#include "backends/cuda/tensor_map.h"

// Many rows of x against packed weights on Hopper. The weights become planes of bytes first, once for all rows: codes
// of formats by 32; steps times codes of those by 256, as low + 64 high in two planes. Blocks that stay take one tile
// after the other: one warp fetches, two groups of four multiply 64 rows of x each with 64 rows of weights. The sums
// are those of the other kernels, to the same bits.
namespace wick::cuda {
namespace {

constexpr int kGroups = 2, kThreadCount = (kGroups + 1) * 128;
constexpr int kTileM = kGroups * 64, kTileN = 64;
constexpr int kBox = 128;  // columns, a byte each

// Of formats by 256: a row's super, [supers, padded n]. Those by 32 have steps in f32, [supers, padded n, 8], then,
// where they have minima, those.
struct alignas(16) SuperNotes {
  float2 scales;  // of the sum, of the minima
  uint32_t mins[2];
};

template <typename Block>
constexpr int kPlanes = Codes<Block>::kBy32 ? 1 : 2;
constexpr int64_t padded_rows(int64_t n) { return (n + kTileN - 1) / kTileN * kTileN; }

// 16 lanes make the bytes of a row's super: lane t of pair j of groups.
template <typename Block>
__global__ void __launch_bounds__(kThreads)
    unpack_planes_kernel(const uint8_t* weights, int64_t n, int k, int64_t ld, uint8_t* planes, void* notes) {
  using Format = Codes<Block>;
  const int supers = supers_of(k), t = threadIdx.x % 4, j = threadIdx.x / 4 % 4;
  const int64_t at = (int64_t{blockIdx.x} * kThreads + threadIdx.x) / 16;
  if (at >= n * supers) return;
  const auto row = at / supers, super = at % supers, padded = padded_rows(n);
  // Of formats by 32.
  const auto note_group = [&](int group, float step, float other) {
    float* const to_step = static_cast<float*>(notes) + (super * padded + row) * 8 + group;
    *to_step = step;
    if (Format::kSums > 0) to_step[supers * 8 * padded] = other;
  };
  const uint8_t* block = weights + row * ld + super * Format::kBytes;
  const int left = (k - static_cast<int>(super) * kSuper) / 32;
  uint8_t* to = planes + (row * supers + super) * kSuper;
  if (2 * j >= left) {  // zeros, of which all of the row's scales are 0
    for (int i = 0; i < 16; i += 4) *reinterpret_cast<uint32_t*>(to + j * 64 + t * 16 + i) = 0;
    if constexpr (Format::kBy32) {
      if (t < 2) note_group(j * 2 + t, 0, 0);
    }
    return;
  }
  const auto of = Format::template scales<false>(block, left);
  uint32_t raw[Format::kWords];
  Format::template load<false>(block, j, t, raw);
#pragma unroll
  for (int u = 0; u < 2; ++u) {
    const uint2 both = Format::codes(raw, j, u, of);
    const int group = 2 * j + u;
#pragma unroll
    for (int w = 0; w < 2; ++w) {
      const uint32_t four = w ? both.y : both.x;
      auto* low = reinterpret_cast<uint32_t*>(to + column_of_word(Format::kOrder, j, u, t, w));
      if constexpr (Format::kBy32) {
        *low = group < left ? four : 0;
      } else {
        const int step = of.step(Format::Scales::kSteps == 2 ? group * 2 + w : group);
        uint32_t few[4], many[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int weight = step * (byte_at(four, i) - Format::kOffset);
          few[i] = static_cast<uint32_t>(weight & 63);
          many[i] = static_cast<uint32_t>(weight >> 6);
        }
        *low = pack_bytes(few[0], few[1], few[2], few[3]);
        low[n * supers * kSuper / 4] = pack_bytes(many[0], many[1], many[2], many[3]);
      }
    }
    if constexpr (Format::kBy32) {
      if (t == 0) note_group(group, of.step(group), Format::kSums > 0 ? of.other(group) : 0);
    }
  }
  if constexpr (!Format::kBy32) {
    if (threadIdx.x % 16 == 0) {
      auto& note = static_cast<SuperNotes*>(notes)[super * padded + row];
      if constexpr (Format::kOffset == 0) {
        note = {{of.scale, of.min_scale}, {of.mins[0], of.mins[1]}};
      } else {
        note = {{of.scale, 0}, {0, 0}};
      }
    }
  }
}

// The products of one job; its weights are the planes.
struct PlanePlan {
  CUtensorMap x, planes[2];
  WeightJob job;
  int m, supers, padded;
  const void *x_scales, *notes;
};

template <typename Block>
struct PlaneRing {
  static constexpr int x_bytes = kTileM * kBox, plane_bytes = kTileN * kBox;
  static constexpr int stage_bytes = x_bytes + kPlanes<Block> * plane_bytes;
  static constexpr int stages = 6, bytes = stages * stage_bytes + kSwizzleBytes;
};

template <typename Block, typename X>
__global__ void __launch_bounds__(kThreadCount, 1)
    packed_hopper_kernel(const __grid_constant__ PlanePlan plan, int tiles_m, int tiles) {
#if WICK_HOPPER
  using Format = Codes<Block>;
  using Ring = PlaneRing<Block>;
  using XScales = InputScalesOf<Format>;
  constexpr int kPairs = kTileN / 8;  // of rows of weights that a thread has
  extern __shared__ char memory[];
  __shared__ uint64_t barriers[2 * Ring::stages];
  const uint32_t ring = held((shared_address(memory) + kSwizzleBytes - 1) / kSwizzleBytes * kSwizzleBytes);
  const uint32_t full = held(shared_address(barriers)), empty = full + Ring::stages * 8;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = warp / 4, g = lane / 4, t = lane % 4;
  const int supers = plan.supers, of_part = supers_of_part(supers), boxes = supers * 2;
  let_next_start();
  if (threadIdx.x == 0) {
    for (int i = 0; i < Ring::stages; ++i) {
      init_barrier(full + i * 8, 1);
      init_barrier(empty + i * 8, kGroups * 4);
    }
    publish_barriers();
  }
  __syncthreads();
  wait_for_previous();

  if (group == kGroups) {
    give_registers<24>();
    if (warp == kGroups * 4 && lane == 0) {
      uint32_t stage = 0, parity = 1;
      for (int tile = static_cast<int>(blockIdx.x); tile < tiles; tile += static_cast<int>(gridDim.x)) {
        for (int box = 0; box < boxes; ++box) {
          wait_barrier(empty + stage * 8, parity);
          const uint32_t to = ring + stage * Ring::stage_bytes, barrier = full + stage * 8;
          const int column = box * kBoxColumns;
          arrive_and_expect(barrier, Ring::stage_bytes);
          fetch_box(to, plan.x, tile % tiles_m * kTileM, column, barrier);
#pragma unroll
          for (int i = 0; i < kPlanes<Block>; ++i) {
            fetch_box(to + Ring::x_bytes + i * Ring::plane_bytes, plan.planes[i], tile / tiles_m * kTileN, column,
                      barrier);
          }
          if (++stage == Ring::stages) {
            stage = 0;
            parity ^= 1;
          }
        }
      }
    }
    return;
  }
  take_registers<240>();
  uint32_t stage = 0, parity = 0;
  const auto advance = [&] {
    if (++stage == Ring::stages) {
      stage = 0;
      parity ^= 1;
    }
  };
  const auto* x_scales = static_cast<const XScales*>(plan.x_scales);
  for (int tile = static_cast<int>(blockIdx.x); tile < tiles; tile += static_cast<int>(gridDim.x)) {
    const int first_token = tile % tiles_m * kTileM + group * 64 + warp % 4 * 16 + g;
    const int first_row = tile / tiles_m * kTileN;
    const XScales* x_rows[2] = {x_scales + int64_t{min(first_token, plan.m - 1)} * supers,
                                x_scales + int64_t{min(first_token + 8, plan.m - 1)} * supers};
    float sum[kTileN / 2] = {}, total[kTileN / 2] = {};
    // Of formats by 32: steps of pairs of rows, of a group and the one behind it.
    float2 step[2][kPairs], other[2][kPairs], x_scale_of[2], x_sum_of[2];
    const auto fetch_notes = [&](int super, int in_super) {
      if constexpr (Format::kBy32) {
        const XScales &upper = x_rows[0][super], &lower = x_rows[1][super];
        const int turn = in_super % 2;
        x_scale_of[turn] = {upper.scales[in_super], lower.scales[in_super]};
        x_sum_of[turn] = {upper.sum(in_super), lower.sum(in_super)};
        const float* steps =
            static_cast<const float*>(plan.notes) + (int64_t{super} * plan.padded + first_row + t * 2) * 8 + in_super;
#pragma unroll
        for (int j = 0; j < kPairs; ++j) {
          const float* at = steps + j * 64;
          step[turn][j] = {at[0], at[8]};
          if constexpr (Format::kSums > 0) {
            const float* least = at + int64_t{supers} * plan.padded * 8;
            other[turn][j] = {least[0], least[8]};
          }
        }
      }
    };
    fetch_notes(0, 0);
    int in_part = 0;
#pragma unroll 1
    for (int super = 0; super < supers; ++super) {
      if constexpr (Format::kBy32) {
#pragma unroll
        for (int in_super = 0; in_super < 8; ++in_super) {
          const int i = in_super % 4, turn = in_super % 2;
          if (i == 0) wait_barrier(full + stage * 8, parity);
          const uint32_t from = ring + stage * Ring::stage_bytes;
          int part[kTileN / 2] = {};
          begin_products();
          multiply_bytes_async(part, describe(from + group * (Ring::x_bytes / kGroups)) + i * 2,
                               describe(from + Ring::x_bytes) + i * 2, false);
          end_products();
          if (in_super < 7) fetch_notes(super, in_super + 1);
          if (in_super == 7 && super + 1 < supers) fetch_notes(super + 1, 0);
          wait_products<0>();
          if (i == 3) {
            if (lane == 0) arrive(empty + stage * 8);
            advance();
          }
#pragma unroll
          for (int e = 0; e < kTileN / 2; ++e) {
            const int j = e / 4;
            const bool second = e % 2;
            const float x_of = e / 2 % 2 ? x_scale_of[turn].y : x_scale_of[turn].x;
            const float sum_of = e / 2 % 2 ? x_sum_of[turn].y : x_sum_of[turn].x;
            float least = 0;
            if constexpr (Format::kSums > 0) least = second ? other[turn][j].y : other[turn][j].x;
            sum[e] =
                add_group<Format>(sum[e], part[e], second ? step[turn][j].y : step[turn][j].x, x_of, least, sum_of);
          }
        }
      } else {
        const XScales &upper = x_rows[0][super], &lower = x_rows[1][super];
        const auto* rows = static_cast<const SuperNotes*>(plan.notes) + super * plan.padded + first_row;
        const float x_scale[2] = {upper.scale, lower.scale};
        float2 scales[kPairs][2];
        uint32_t mins[kPairs], x_low[2] = {}, x_high[2] = {};
#pragma unroll
        for (int j = 0; j < kPairs; ++j) {
          scales[j][0] = rows[j * 8 + t * 2].scales;
          scales[j][1] = rows[j * 8 + t * 2 + 1].scales;
          if constexpr (Format::kOffset == 0) mins[j] = t < 2 ? rows[j * 8 + g].mins[t % 2] : 0;
        }
        if constexpr (Format::kOffset == 0) {
          x_low[0] = upper.low[t % 2];
          x_low[1] = lower.low[t % 2];
          x_high[0] = upper.high[t % 2];
          x_high[1] = lower.high[t % 2];
        }
        int low[kTileN / 2] = {}, high[kTileN / 2] = {};
        uint32_t from[2], stages[2];
#pragma unroll
        for (int box = 0; box < 2; ++box) {
          wait_barrier(full + stage * 8, parity);
          stages[box] = stage;
          from[box] = ring + stage * Ring::stage_bytes;
          advance();
        }
        begin_products();
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          const uint32_t at = from[i / 4], x = describe(at + group * (Ring::x_bytes / kGroups)) + i % 4 * 2;
          multiply_bytes_async(low, x, describe(at + Ring::x_bytes) + i % 4 * 2, i > 0);
          multiply_bytes_async(high, x, describe(at + Ring::x_bytes + Ring::plane_bytes) + i % 4 * 2, i > 0);
        }
        end_products();
        wait_products<0>();
        // What these are read from may be on its way until here; the compiler would use them before the wait.
        asm volatile("" : "+r"(x_low[0]), "+r"(x_low[1]), "+r"(x_high[0]), "+r"(x_high[1]));
        if (lane == 0) {
          arrive(empty + stages[0] * 8);
          arrive(empty + stages[1] * 8);
        }
#pragma unroll
        for (int j = 0; j < kPairs; ++j) {
          int few[4] = {}, many[4] = {};
          if constexpr (Format::kOffset == 0) {
            mma_half_bytes(few, x_low[0], x_low[1], mins[j]);
            mma_half_bytes(many, x_high[0], x_high[1], mins[j]);
          }
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            const float2 by = scales[j][e % 2];
            const int at = j * 4 + e;
            const float value = super_value<Format>(low[at] + high[at] * 64, few[e] + many[e] * 64, by.x, by.y);
            sum[at] = __fmaf_rn(value, x_scale[e / 2], sum[at]);
          }
        }
      }
      if (++in_part == of_part || super + 1 == supers) {
        in_part = 0;
#pragma unroll
        for (int e = 0; e < kTileN / 2; ++e) {
          total[e] += sum[e];
          sum[e] = 0;
        }
      }
    }
#pragma unroll
    for (int e = 0; e < kTileN / 2; ++e) {
      const int token = first_token + e / 2 % 2 * 8, row = first_row + e / 4 * 8 + t * 2 + e % 2;
      if (token < plan.m && row < plan.job.n) store_product<X>(plan.job, token, row, total[e]);
    }
  }
#endif
}

template <typename Block, typename X>
void launch(Device device, const WeightPlan& plan) {
  const Runtime& use = runtime(device);
  const int64_t k = packed_columns(plan.k), supers = k / kSuper;
  const ReadyRows ready(device, plan, true);
  const PackedRows x = ready.from(0);
  allow_shared<packed_hopper_kernel<Block, X>>(device, PlaneRing<Block>::bytes);
  for (int i = 0; i < plan.count; ++i) {
    const WeightJob& job = plan.jobs[i];
    if (job.n == 0) continue;
    const int64_t padded = padded_rows(job.n);
    const int64_t note_bytes = Codes<Block>::kBy32 ? (Codes<Block>::kSums > 0 ? 2 : 1) * 8 * int64_t{sizeof(float)}
                                                   : int64_t{sizeof(SuperNotes)};
    const Scratch planes(device, static_cast<size_t>(job.n * k * kPlanes<Block>)),
        notes(device, static_cast<size_t>(supers * padded * note_bytes));
    const unsigned blocks = blocks_for(job.n * supers * 16);
    unpack_planes_kernel<Block><<<blocks, kThreads, 0, use.stream>>>(static_cast<const uint8_t*>(job.weights), job.n,
                                                                     static_cast<int>(plan.k), plan.ld,
                                                                     planes.as<uint8_t>(), notes.as<void>());
    check_launch(device, "matmul");
    PlanePlan tiles{};
    // Two bytes count as one number of f16: the copy engine only moves them.
    tiles.x = map_rows(device, x.codes, DType::kF16, plan.m, k / 2, k / 2, kTileM);
    for (int p = 0; p < kPlanes<Block>; ++p) {
      tiles.planes[p] = map_rows(device, planes.as<char>() + p * job.n * k, DType::kF16, job.n, k / 2, k / 2, kTileN);
    }
    tiles.job = job;
    tiles.m = static_cast<int>(plan.m);
    tiles.supers = static_cast<int>(supers);
    tiles.padded = static_cast<int>(padded);
    tiles.x_scales = x.scales;
    tiles.notes = notes.as<void>();
    const auto tiles_m = static_cast<int>((plan.m + kTileM - 1) / kTileM);
    const int count = tiles_m * static_cast<int>(padded / kTileN);
    launch_dependent(device, "matmul", packed_hopper_kernel<Block, X>,
                     static_cast<unsigned>(std::min(count, use.multiprocessors)), kThreadCount, PlaneRing<Block>::bytes,
                     tiles, tiles_m, count);
  }
}

}  // namespace

void multiply_packed_hopper(Device device, const WeightPlan& plan) {
  visit_codes(plan, [&](auto block, auto x) { launch<decltype(block), decltype(x)>(device, plan); });
}

}  // namespace wick::cuda
