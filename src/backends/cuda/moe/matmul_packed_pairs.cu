#include "backends/cuda/moe/experts_plan.h"
#include "backends/cuda/quant/packed_product.cuh"

// Few token–expert pairs of packed experts, each alone: decode. A block has a pair's row of x, or to mix the outputs
// all rows of a token's pairs, and some rows of weights, which its warps take in tiles of whole rows and multiply with
// multiply_diagonal. All that a warp has to multiply is on its way at once, if there is room: gate and up from when the
// experts are known, down already while gate and up are multiplied.
namespace wick::cuda {
namespace {

constexpr int kMostWarps = 12, kFewestWarps = kThreads / 32;
constexpr int kMostSlots = 4;        // for tiles that a warp has or waits for
constexpr int kMostRows = kThreads;  // of a block, mixed
constexpr int kMostShort = 4;        // super-blocks of short rows

enum class PairKernel {
  kGated,  // a tile is a row of gate and the same one of up
  kMixed,  // two rows
  kShort,  // mixed, four rows of at most kMostShort super-blocks
};
__host__ __device__ constexpr int rows_of_tile(PairKernel kind) {  // of out
  return kind == PairKernel::kGated ? 1 : kind == PairKernel::kMixed ? 2 : 4;
}

struct PairJob {
  WeightPlan input;       // x [pairs, k] of tokens; mixed: the rows of a token's pairs as one
  const float* residual;  // [tokens, n] or null; mixed
  float* out;             // gated [pairs, n]; mixed [tokens, n]
  int n, k, row_bytes;
  int rows;          // of x in a block
  int tiles, slots;  // of a block, of a warp
};

// Rows that lie one behind the other, in shared memory: up to 15 bytes before and behind them come along, unless all
// rows lie at multiples of 16.
template <typename Block>
__host__ __device__ __forceinline__ int stretch_bytes(int bytes) {
  return Codes<Block>::kBytes % 16 == 0 ? bytes : (bytes + 15 + 15) / 16 * 16;
}
template <typename Block, PairKernel kKind>
__host__ __device__ __forceinline__ int tile_bytes(int row_bytes) {
  return kKind == PairKernel::kGated ? 2 * stretch_bytes<Block>(row_bytes)
                                     : stretch_bytes<Block>(rows_of_tile(kKind) * row_bytes);
}

// What pack_row takes stretches of 256 columns from, by some warps, in turns: x, or its norm. As InputRow has it, by
// few instructions: these kernels run for a few microseconds, and instruction-cache misses take time, too.
struct Stretches {
  const float *x, *norm_weight;  // null: x itself
  float inverse;
  int warps;

  template <typename Body>
  __device__ __forceinline__ void each_stretches(int count, const Body& body) const {
    const auto load = [&](int stretch, int half) {
      float4 four{0, 0, 0, 0};
      if (stretch >= count) return four;
      const int at = stretch * kSuperBlock + half * (kSuperBlock / 2) + static_cast<int>(threadIdx.x) % 32 * 4;
      four = load_four(x + at);
      if (!norm_weight) return four;
      const float4 weight = load_four(norm_weight + at);
      return float4{four.x * inverse * weight.x, four.y * inverse * weight.y, four.z * inverse * weight.z,
                    four.w * inverse * weight.w};
    };
    int stretch[1] = {static_cast<int>(threadIdx.x) / 32};
    float4 x[1][2] = {{load(stretch[0], 0), load(stretch[0], 1)}};
#pragma unroll 1
    for (; stretch[0] < count; stretch[0] += warps) {
      const float4 next[2] = {load(stretch[0] + warps, 0), load(stretch[0] + warps, 1)};
      body(stretch, x);
      x[0][0] = next[0];
      x[0][1] = next[1];
    }
  }
};

__device__ __forceinline__ void wait_slot(int slots) {  // the oldest of them
  switch (slots) {
    case 4: return wait_copies<3>();
    case 3: return wait_copies<2>();
    case 2: return wait_copies<1>();
    default: return wait_copies<0>();
  }
}

// The grid is [tiles, pairs], mixed [tiles, tokens].
template <typename Block, PairKernel kKind>
__global__ void __launch_bounds__(kMostWarps * 32, 2)
    packed_pairs_kernel(const __grid_constant__ PairJob job, const __grid_constant__ ExpertTable experts) {
  using Format = Codes<Block>;
  using Scales = InputScalesOf<Format>;
  using Row = InputRow<float, false, false>;
  constexpr bool kAligned = Format::kBytes % 16 == 0, kGated = kKind == PairKernel::kGated,
                 kShort = kKind == PairKernel::kShort;
  constexpr int kTileRows = rows_of_tile(kKind);
  // Codes of x [rows, k + kPartsGap], its scales [rows, super_blocks], the rings of the warps, the outputs [rows,
  // tiles'].
  extern __shared__ __align__(128) char memory[];
  __shared__ Row::Shared reduced;  // gated
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const int warps = static_cast<int>(blockDim.x) / 32, rows = kGated ? 1 : job.rows,
            which = static_cast<int>(blockIdx.y);
  const int super_blocks = job.k / kSuperBlock, of_part = kShort ? 1 : super_blocks_of_part(super_blocks),
            codes_bytes = job.k + kPartsGap;
  auto* scales = reinterpret_cast<Scales*>(memory + rows * codes_bytes);
  char* rings = reinterpret_cast<char*>(scales + rows * super_blocks);
  const int slot_bytes = tile_bytes<Block, kKind>(job.row_bytes);
  const char* ring = rings + warp * job.slots * slot_bytes;
  auto* outputs = reinterpret_cast<float*>(rings + warps * job.slots * slot_bytes);

  // Items of the block are its tiles, mixed each with all experts; those of a warp are `warps` apart.
  const int first_tile = static_cast<int>(blockIdx.x) * job.tiles;
  const int items = max(0, min(job.tiles, job.n / kTileRows - first_tile)) * rows;
  const auto copy_rows = [&](uint32_t place, const void* weights, int row, int bytes) {
    const uint8_t* from = static_cast<const uint8_t*>(weights) + int64_t{row} * job.row_bytes;
    const int shift = low_bits<Block>(from);
#pragma unroll 1
    for (int at = lane * 16; at < shift + bytes; at += 32 * 16) {
      copy_once_async(place + static_cast<uint32_t>(at), from - shift + at, true);
    }
  };
  int id = 0, next = warp, next_slot = 0;  // id: the expert, mixed that of row `lane` of x
  const auto start_next = [&] {
    if (next < items) {
      const uint32_t place = shared_address(ring) + static_cast<uint32_t>(next_slot * slot_bytes);
      if constexpr (kGated) {
        copy_rows(place, experts.first[id], first_tile + next, job.row_bytes);
        copy_rows(place + static_cast<uint32_t>(slot_bytes / 2), experts.second[id], first_tile + next, job.row_bytes);
      } else {
        const int tile = next / rows, expert = __shfl_sync(0xffffffffu, id, next - tile * rows);
        copy_rows(place, experts.first[expert], (first_tile + tile) * kTileRows, kTileRows * job.row_bytes);
      }
      next += warps;
      next_slot = next_slot + 1 == job.slots ? 0 : next_slot + 1;
    }
    commit_copies();
  };
  const auto start_all = [&] {
#pragma unroll 1
    for (int i = 0; i < job.slots; ++i) start_next();
  };
  const auto pack = [&](const Stretches& row) {
    pack_row<Format>(
        row, rows * super_blocks,
        [&](int super_block) {
          const int at = kGated ? 0 : super_block / super_blocks, in = super_block - at * super_blocks;
          return memory + at * codes_bytes + super_block_place(in, of_part);
        },
        [&](int super_block) { return scales + super_block; });
  };
  Format::fetch_codebook(job.input.codebook, threadIdx.x, blockDim.x);
  float routing_weight = 0, residual = 0;  // of row `lane` of x, of this thread's row of out
  const int64_t out_at = int64_t{which} * job.n + first_tile * kTileRows + threadIdx.x;
  const bool is_mine = !kGated && static_cast<int>(threadIdx.x) * rows < items * kTileRows;
  if constexpr (kGated) {
    const Row::Norm norm(job.input);
    wait_for_prerequisites();
    launch_dependents();  // not before: the next kernel reads the ids, too, without waiting for this one
    id = __ldcg(experts.ids + which);
    const int64_t token = which / experts.chosen;
    const bool packs = threadIdx.x < kThreads;
    if (packs) {
      const float inverse = Row(job.input, token, reduced, norm, start_all).inverse();
      pack({static_cast<const float*>(job.input.x) + token * job.k, job.input.norm_weight, inverse, kThreads / 32});
    } else {
      start_all();
    }
  } else {
    launch_dependents();
    const int pair = which * rows + min(lane, rows - 1);
    id = __ldcg(experts.ids + pair);
    routing_weight = __ldcg(experts.routing_weights + pair);
    start_all();
    wait_for_prerequisites();
    if (is_mine && job.residual) residual = job.residual[out_at];
    pack({static_cast<const float*>(job.input.x) + int64_t{which} * rows * job.k, nullptr, 1, warps});
  }
  __syncthreads();

  // Rows g and g + 8 of the tensor cores' first operand are super-blocks of weights' rows, columns of the second those
  // of x: see multiply_diagonal. Of rows g and g + 8 that are one row of weights the first has the first half of the
  // parts; of short ones, the parts of two rows.
  const int part = g % 4, x_part = kShort ? min(g / 2, super_blocks - 1)
                                          : min(g / 2 + g % 2 * (kParts / 2), (super_blocks - 1) / of_part);
  const int first_super_block = part * of_part, second_super_block = kShort ? part : (part + kParts / 2) * of_part;
  const int x_at = part_place(x_part, of_part) + t * 16;
  int slot = 0;
  for (int item = warp; item < items; item += warps) {
    const int tile = kGated ? item : item / rows, x_row = item - tile * (kGated ? 1 : rows);
    const char* x = memory + (kGated ? 0 : x_row * codes_bytes) + x_at;
    const Scales* x_scales = scales + (kGated ? 0 : x_row * super_blocks);
    const auto* upper = reinterpret_cast<const uint8_t*>(ring + slot * slot_bytes);
    upper += g / 4 * (kGated ? slot_bytes / 2 : job.row_bytes);
    if constexpr (!kAligned) {  // the matrix lies at a multiple of 16
      upper += static_cast<uint32_t>((first_tile + tile) * kTileRows) * static_cast<uint32_t>(job.row_bytes) & 15;
    }
    const uint8_t* lower = kShort ? upper + 2 * job.row_bytes : upper;
    wait_slot(job.slots);
    __syncwarp();
    float sum[2] = {};
    multiply_parts<Format, kAligned>(sum, upper, lower, first_super_block, second_super_block, of_part, super_blocks, t,
                                     x, x_scales);
    __syncwarp();
    start_next();
    slot = slot + 1 == job.slots ? 0 : slot + 1;
    // Of a row's parts lane 5p of its half of the warp has part p.
    const auto add_parts = [&](float total, float of) {
#pragma unroll
      for (int p = 0; p < kParts / 2; ++p) total += __shfl_sync(0xffffffffu, of, (lane & 16) + 5 * p);
      return total;
    };
    const float total = add_parts(0, sum[0]), other = add_parts(kShort ? 0 : total, sum[1]);
    if constexpr (kGated) {
      const float up = __shfl_sync(0xffffffffu, other, 16);
      if (lane == 0) job.out[int64_t{which} * job.n + first_tile + tile] = gated(other, up);
    } else if (lane % 16 == 0) {
      float* output = outputs + x_row * (job.tiles * kTileRows) + tile * kTileRows + lane / 16;
      if (kShort) output[0] = total;
      output[kShort ? 2 : 0] = other;
    }
  }
  if constexpr (!kGated) {
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < rows; ++i) {
      const float of = __shfl_sync(0xffffffffu, routing_weight, i);
      if (is_mine) sum = __fadd_rn(sum, __fmul_rn(outputs[i * (job.tiles * kTileRows) + threadIdx.x], of));
    }
    if (is_mine) job.out[out_at] = job.residual ? sum + residual : sum;
  }
}

struct PairShape {
  int tiles = 0, warps = 0, slots = 0;
  size_t shared = 0;
};

// Half of a multiprocessor's shared memory, so that a block of the next kernel has room, too.
constexpr int kHalfRoom = 112 * 1024;
template <typename Block>
int room_of(const Runtime& use) {
  return use.shared_bytes - 1024 - Codes<Block>::kCodebookBytes;
}

// About a block for each multiprocessor, with all of its tiles under way if there is room. No warps: there is none.
template <typename Block, PairKernel kKind>
PairShape shape_of(const Runtime& use, const PairJob& job, int64_t across) {
  constexpr int kTileRows = rows_of_tile(kKind);
  PairShape shape;
  const int64_t all = job.n / kTileRows, processors = use.multiprocessors;
  int64_t blocks = std::max<int64_t>(processors / across, 1);
  if (blocks * across * 10 < processors * 9) ++blocks;
  shape.tiles = static_cast<int>((all + blocks - 1) / blocks);
  if (kKind != PairKernel::kGated) shape.tiles = std::min(shape.tiles, kMostRows / kTileRows);
  const int x_scales = super_blocks_of(job.k) * static_cast<int>(sizeof(InputScalesOf<Codes<Block>>));
  const int outputs = kKind == PairKernel::kGated ? 0 : shape.tiles * kTileRows * 4;
  constexpr int kBehind = 16;  // words that are not aligned are read with the one behind them
  const int64_t fixed = int64_t{job.rows} * (job.k + kPartsGap + x_scales + outputs) + kBehind;
  const int64_t slot_bytes = tile_bytes<Block, kKind>(job.row_bytes);
  const int most = room_of<Block>(use);
  for (const int room : {std::min(kHalfRoom, most), most}) {
    for (const int warps : {kMostWarps, kFewestWarps}) {
      const int items = (shape.tiles * job.rows + warps - 1) / warps;
      for (int slots = std::min(items, kMostSlots); slots >= std::min(items, 2); --slots) {
        shape.shared = static_cast<size_t>(fixed + warps * slots * slot_bytes);
        if (shape.shared > static_cast<size_t>(room)) continue;
        shape.warps = warps;
        shape.slots = slots;
        return shape;
      }
    }
  }
  return shape;
}

template <typename Block, PairKernel kKind>
void launch(Device device, PairJob job, const ExpertTable& experts, int64_t across) {
  const Runtime& use = runtime(device);
  const PairShape shape = shape_of<Block, kKind>(use, job, across);
  job.tiles = shape.tiles;
  job.slots = shape.slots;
  allow_shared<packed_pairs_kernel<Block, kKind>>(device, room_of<Block>(use));
  const dim3 grid(blocks_for(job.n / rows_of_tile(kKind), shape.tiles), static_cast<unsigned>(across));
  launch_dependent(device, "experts", packed_pairs_kernel<Block, kKind>, grid, static_cast<unsigned>(shape.warps * 32),
                   shape.shared, job, experts);
}

PairJob gated_job(const MixPlan& plan, float* between) {
  return {plan.input,
          nullptr,
          between,
          static_cast<int>(plan.inner),
          static_cast<int>(plan.hidden),
          static_cast<int>(bytes_of(plan.input.dtype, plan.hidden)),
          1,
          0,
          0};
}

PairJob mixed_job(const MixPlan& plan, const float* between) {
  PairJob job{{},
              plan.residual,
              plan.out,
              static_cast<int>(plan.hidden),
              static_cast<int>(plan.inner),
              static_cast<int>(bytes_of(plan.down_dtype, plan.inner)),
              plan.chosen,
              0,
              0};
  job.input.m = plan.input.m;
  job.input.k = plan.inner * plan.chosen;
  job.input.x = between;
  return job;
}

// Body(Block{}, kind of the job).
template <typename Body>
void visit_kinds(DType dtype, const PairJob& job, bool mixes, const Body& body) {
  visit_packed(dtype, [&](auto block) {
    using Block = decltype(block);
    if constexpr (Codes<Block>::kKnown) {
      if (!mixes) return body.template operator()<Block, PairKernel::kGated>();
      job.k <= kMostShort* kSuperBlock ? body.template operator()<Block, PairKernel::kShort>()
                                       : body.template operator()<Block, PairKernel::kMixed>();
    }
  });
}

}  // namespace

bool fits_packed_pairs(const Runtime& use, const MixPlan& plan) {
  if (!fits_packed_experts(use, plan) || plan.hidden % kSuperBlock != 0 || plan.inner % kSuperBlock != 0) return false;
  const int64_t tokens = plan.input.m;
  bool fits = true;
  const auto check = [&](DType dtype, const PairJob& job, bool mixes, int64_t across) {
    visit_kinds(dtype, job, mixes, [&]<typename Block, PairKernel kKind>() {
      fits &= shape_of<Block, kKind>(use, job, across).warps > 0;
    });
  };
  check(plan.input.dtype, gated_job(plan, nullptr), false, tokens * plan.chosen);
  check(plan.down_dtype, mixed_job(plan, nullptr), true, tokens);
  return fits;
}

void mix_packed_pairs(Device device, const MixPlan& plan) {
  const int64_t tokens = plan.input.m, pairs = tokens * plan.chosen;
  const Scratch between(device, static_cast<size_t>(pairs * plan.inner) * 4);
  const auto multiply = [&](DType dtype, PairJob job, bool mixes, const ExpertTable& experts, int64_t across) {
    job.input.codebook = codebook_of(device, dtype);
    visit_kinds(dtype, job, mixes,
                [&]<typename Block, PairKernel kKind>() { launch<Block, kKind>(device, job, experts, across); });
  };
  multiply(plan.input.dtype, gated_job(plan, between.as<float>()), false, plan.gates, pairs);
  multiply(plan.down_dtype, mixed_job(plan, between.as<const float>()), true, plan.downs, tokens);
}

}  // namespace wick::cuda
