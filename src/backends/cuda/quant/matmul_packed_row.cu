#include "backends/cuda/gemm/ring.cuh"
#include "backends/cuda/quant/packed_groups.cuh"

// One row of x on Hopper, with formats by 256. A tile is 16 rows of weights (packed_groups.cuh). One warp fetches
// pieces of rows for all, eight multiply super-blocks in turn, and one adds up what they found and stores it.
//
// Formats whose activations are the same have one kernel: a layer runs several, one after the other, and two kernels in
// turn would cost instruction-cache misses, which take longer than running the instructions.
namespace wick::cuda {
namespace {

constexpr int kMultipliers = kThreads / 32;             // warps
constexpr int kBlockThreads = (kMultipliers + 2) * 32;  // one that fetches, one that finishes
constexpr int kMostStages = 8;
constexpr int kHeld = 3;        // tiles whose super-blocks wait to be added up
constexpr int kMostPiece = 16;  // super-blocks of a row that are fetched at once
constexpr int kMostTeams = 2;

// Of two formats, or one twice.
template <typename FirstBlock, typename SecondBlock>
struct Formats {
  using First = FirstBlock;
  using Second = SecondBlock;
  static constexpr bool kBy32 = Codes<First>::kBy32 || Codes<Second>::kBy32;
  static constexpr int kSums = std::max(Codes<First>::kSums, Codes<Second>::kSums);
  static constexpr Order kOrder = kOrderOf<Codes<First>>;
  static_assert(!kBy32 && kOrder == kOrderOf<Codes<Second>>);
};
template <typename Block>
using FormatsOf = std::conditional_t<std::is_same_v<Block, BlockQ4_K> || std::is_same_v<Block, BlockQ6_K>,
                                     Formats<BlockQ4_K, BlockQ6_K>, Formats<Block, Block>>;

struct Flow {
  WeightPlan plan;
  JobTiles<kRows> tiles;
  bool second;  // of the formats
  bool whole;   // blocks lie at multiples of 16 bytes
  int super_block_bytes;
  int piece;        // super-blocks of a row in a stage
  int team, teams;  // warps that multiply a tile, and tiles of a stage
  int pitch, stages;
};

// What a row of x has besides its codes, of a super-block.
template <int kSums>
struct alignas(16) RowScales {
  float scale;
  uint32_t unused[3];
  int16_t sums[kSums];
  __device__ __forceinline__ void keep(int at, int sum) { sums[at] = static_cast<int16_t>(sum); }
};

// Where things lie in shared memory.
template <int kSums>
struct Layout {
  using Scales = RowScales<kSums>;
  int scales, values, ring, bytes;
  __host__ __device__ explicit Layout(const Flow& flow) {
    constexpr int kBehind = 16;  // words that are not aligned are read with the one behind them
    const int super_blocks = super_blocks_of(flow.plan.k);
    scales = super_blocks * kSuperBlock;
    values = scales + super_blocks * static_cast<int>(sizeof(Scales));
    ring = (values + kHeld * flow.teams * super_blocks * kRows * static_cast<int>(sizeof(float)) + 127) / 128 * 128;
    bytes = ring + flow.stages * stage_bytes(flow) + kBehind;
  }
  static __host__ __device__ int stage_bytes(const Flow& flow) { return flow.teams * kRows * flow.pitch; }
};

#if WICK_HOPPER
constexpr int kFetches = kMultipliers;  // the warp
constexpr int kAhead = 2;               // stages that are on their way at a time; at first it is one
constexpr int kInputReady = 1;          // a barrier of all threads

// Who fetches, multiplies and finishes agree on what stage or tile is whose by these.
struct Barriers {
  uint32_t first;
  __device__ __forceinline__ uint32_t full(int stage) const { return at(stage); }
  __device__ __forceinline__ uint32_t empty(int stage) const { return at(kMostStages + stage); }
  __device__ __forceinline__ uint32_t found(int held) const { return at(2 * kMostStages + held); }
  __device__ __forceinline__ uint32_t taken(int held) const { return at(2 * kMostStages + kHeld + held); }
  __device__ __forceinline__ void init() const {
#pragma unroll
    for (int i = 0; i < kMostStages; ++i) {
      init_barrier(full(i), 1);
      init_barrier(empty(i), kMultipliers);
    }
#pragma unroll
    for (int i = 0; i < kHeld; ++i) {
      init_barrier(found(i), kMultipliers);
      init_barrier(taken(i), 1);
    }
    publish_barriers();
  }

 private:
  __device__ __forceinline__ uint32_t at(int i) const { return first + static_cast<uint32_t>(i) * 8; }
};
constexpr int kBarriers = 2 * (kMostStages + kHeld);

// By one thread, which the compiler knows of.
__device__ __forceinline__ void fetch_pieces(const Flow& flow, const char* ring, const Barriers& barriers) {
  const WeightPlan& plan = flow.plan;
  const int row_bytes = super_blocks_of(plan.k) * flow.super_block_bytes,
            piece_bytes = flow.piece * flow.super_block_bytes;
  const int runs = plan.gated ? 2 : 1, run = kRows / runs;  // rows of a tile that are neighbours
  const int stage_bytes = flow.teams * kRows * flow.pitch;
  const uint32_t ring_at = shared_address(ring);
  int fetched = 0, arrived = 0;
  DynamicPipelineState stage, behind;
#pragma unroll 1
  for (int first = static_cast<int>(blockIdx.x) * flow.teams; first < flow.tiles.total;
       first += static_cast<int>(gridDim.x) * flow.teams) {
    const int tiles = min(flow.teams, flow.tiles.total - first);
#pragma unroll 1
    for (int from = 0; from < row_bytes; from += piece_bytes) {
      // Few at a time: x, and what the kernels before this one read, would wait behind all of them.
      while (fetched - arrived >= (fetched < kAhead ? 1 : kAhead)) {
        wait_barrier(barriers.full(behind.at), behind.parity);
        behind.advance(flow.stages);
        ++arrived;
      }
      if (fetched++ >= flow.stages) wait_barrier(barriers.empty(stage.at), stage.parity ^ 1);
      const uint32_t full = barriers.full(stage.at);
      const int bytes = min(piece_bytes, row_bytes - from);
      // Rows behind the last are the last one once more.
      const auto each_row = [&](const auto& body) {
        uint32_t to = ring_at + static_cast<uint32_t>(stage.at * stage_bytes);
#pragma unroll 1
        for (int i = 0; i < tiles * runs; ++i) {
          const RowPlace place = flow.tiles.row(plan, first + i / runs, i % runs * run);
          const WeightJob& job = plan.jobs[place.job];
          const int last = static_cast<int>(job.n) - 1 - place.row;
          const uint8_t* row = static_cast<const uint8_t*>(job.weights) + place.row * plan.ld + from;
#pragma unroll 4
          for (int r = 0; r < run; ++r) {
            const int shift = static_cast<int>(reinterpret_cast<uintptr_t>(row) & 15);
            body(to, row - shift, (shift + bytes + 15) / 16 * 16);
            to += static_cast<uint32_t>(flow.pitch);
            if (r < last) row += plan.ld;
          }
        }
      };
      int expected = flow.whole ? tiles * kRows * bytes : 0;
      if (!flow.whole) each_row([&](uint32_t, const uint8_t*, int size) { expected += size; });
      arrive_and_expect(full, expected);
      each_row([&](uint32_t to, const uint8_t* row, int size) { fetch_bytes(to, row, size, full); });
      stage.advance(flow.stages);
    }
  }
}

template <typename Block, int kSums>
__device__ __forceinline__ void multiply_pieces(const Flow& flow, const char* memory, float* values, const char* ring,
                                                const Barriers& barriers, int warp, int lane) {
  using Format = Codes<Block>;
  constexpr int kAtOnce = Format::kPairs ? 2 : 1;  // super-blocks, where one is little work
  const WeightPlan& plan = flow.plan;
  const Layout<kSums> layout(flow);
  const auto* scales = reinterpret_cast<const typename Layout<kSums>::Scales*>(memory + layout.scales);
  const int g = lane / 4, t = lane % 4, super_blocks = super_blocks_of(plan.k);
  const int mine = warp < flow.team ? 0 : 1, of_team = warp - mine * flow.team;  // kMostTeams is 2
  const char* x = memory + g / 2 * 64 + t * 16 + g % 2 * 8;
  DynamicPipelineState stage, held;
#pragma unroll 1
  for (int first = static_cast<int>(blockIdx.x) * flow.teams; first < flow.tiles.total;
       first += static_cast<int>(gridDim.x) * flow.teams) {
    const int tile = first + mine;
    const bool is_there = mine < flow.teams && of_team < flow.team && tile < flow.tiles.total;
    wait_barrier(barriers.taken(held.at), held.parity ^ 1);
    float* to = values + (held.at * flow.teams + mine) * super_blocks * kRows + g + t % 2 * 8;
#pragma unroll 1
    for (int from = 0; from < super_blocks; from += flow.piece) {
      wait_barrier(barriers.full(stage.at), stage.parity);
      if (is_there) {
        const char* rows = ring + stage.at * layout.stage_bytes(flow) + (mine * kRows + g) * flow.pitch;
        int shift[2] = {};
        if constexpr (!Format::kWhole) {
#pragma unroll
          for (int r = 0; r < 2; ++r) {
            shift[r] = low_bits<Block>(row_data(plan, flow.tiles.row(plan, tile, g + r * 8)) + from * Format::kBytes);
          }
        }
        const int until = min(flow.piece, super_blocks - from);
#pragma unroll 1
        for (int i = of_team; i < until; i += kAtOnce * flow.team) {
          float value[kAtOnce];
          int super_block[kAtOnce];
#pragma unroll
          for (int n = 0; n < kAtOnce; ++n) {
            const int in = min(i + n * flow.team, until - 1);  // the last one once more is to no harm
            const auto* upper = reinterpret_cast<const uint8_t*>(rows + in * Format::kBytes);
            super_block[n] = from + in;
            value[n] = multiply_rows<Format, kSums>(upper + shift[0], upper + 8 * flow.pitch + shift[1], g, t,
                                                    *reinterpret_cast<const uint2*>(x + super_block[n] * kSuperBlock),
                                                    scales[super_block[n]].sums);
          }
#pragma unroll
          for (int n = 0; n < kAtOnce; ++n) {
            if (t < 2) to[super_block[n] * kRows] = value[n];
          }
        }
      }
      __syncwarp();
      if (lane == 0) arrive(barriers.empty(stage.at));
      stage.advance(flow.stages);
    }
    if (lane == 0) arrive(barriers.found(held.at));
    held.advance(kHeld);
  }
}

// Lanes r and r + 16 add up row r, each half of the parts.
template <int kSums, typename X>
__device__ __forceinline__ void finish_tiles(const Flow& flow, const char* memory, const float* values,
                                             const Barriers& barriers, int lane) {
  const WeightPlan& plan = flow.plan;
  const Layout<kSums> layout(flow);
  const auto* scales = reinterpret_cast<const typename Layout<kSums>::Scales*>(memory + layout.scales);
  const int super_blocks = super_blocks_of(plan.k), of_part = super_blocks_of_part(super_blocks), row = lane % kRows;
  constexpr int kOwnParts = kParts / 2;
  const int first_super_block = lane / kRows * kOwnParts * of_part;
  DynamicPipelineState held;
#pragma unroll 1
  for (int first = static_cast<int>(blockIdx.x) * flow.teams; first < flow.tiles.total;
       first += static_cast<int>(gridDim.x) * flow.teams) {
#pragma unroll 1
    for (int mine = 0; mine < flow.teams; ++mine) {
      const int tile = first + mine;
      const RowPlace place = flow.tiles.row(plan, min(tile, flow.tiles.total - 1), row);
      const WeightJob& job = plan.jobs[place.job];
      const bool is_there = lane < kRows && tile < flow.tiles.total && place.row < job.n;
      const float bias = is_there && job.bias ? job.bias[place.row] : 0;
      const float residual = is_there && job.residual ? job.residual[place.row] : 0;
      if (mine == 0) wait_barrier(barriers.found(held.at), held.parity);
      const float* from = values + (held.at * flow.teams + mine) * super_blocks * kRows + row;
      float parts[kOwnParts] = {};
#pragma unroll 2
      for (int i = 0; i < of_part; ++i) {
#pragma unroll
        for (int p = 0; p < kOwnParts; ++p) {
          const int super_block = first_super_block + p * of_part + i, at = min(super_block, super_blocks - 1);
          const float more = __fmaf_rn(from[at * kRows], scales[at].scale, parts[p]);
          if (super_block < super_blocks) parts[p] = more;
        }
      }
      float product = 0;
#pragma unroll
      for (int p = 0; p < kOwnParts; ++p) product += parts[p];
#pragma unroll
      for (int p = 0; p < kOwnParts; ++p) product += __shfl_down_sync(0xffffffffu, parts[p], kRows);
      if (job.bias) product += bias;
      if (plan.gated) product = gated(product, __shfl_down_sync(0xffffffffu, product, 8));
      if (job.residual) product += residual;
      if (is_there && (!plan.gated || row < 8)) static_cast<X*>(job.out)[place.row] = to<X>(product);
    }
    __syncwarp();
    if (lane == 0) arrive(barriers.taken(held.at));
    held.advance(kHeld);
  }
}
#endif

template <typename X>
using Row = InputRow<X, false, false, true>;  // of whole super-blocks

template <typename Both, typename X>
__global__ void __launch_bounds__(kBlockThreads, 2) packed_row_kernel(const __grid_constant__ Flow flow) {
#if WICK_HOPPER
  constexpr int kSums = Both::kSums;
  extern __shared__ __align__(128) char memory[];
  __shared__ typename Row<X>::Shared reduced;
  __shared__ uint64_t all_barriers[kBarriers];
  const WeightPlan& plan = flow.plan;
  const Layout<kSums> layout(flow);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const Barriers barriers{shared_address(all_barriers)};
  if (!plan.leads) launch_dependents();
  if (warp == kFetches) {
    const bool fetches = is_elected();
    if (fetches) barriers.init();
    __syncwarp();
    arrive_threads(kInputReady, kBlockThreads);
    if (!plan.steady && !plan.follows) wait_for_prerequisites();
    if (fetches) fetch_pieces(flow, memory + layout.ring, barriers);
    return;
  }
  const typename Row<X>::Norm norm(plan);
  if (!plan.follows) wait_for_prerequisites();
  if (plan.leads) launch_dependents();
  if (threadIdx.x < kThreads) {
    Codes<typename Both::First>::fetch_codebook(plan.codebook, threadIdx.x, kThreads);
    auto* scales = reinterpret_cast<typename Layout<kSums>::Scales*>(memory + layout.scales);
    const Row<X> row(plan, 0, reduced, norm);
    pack_row<Both, Both::kOrder>(
        row, super_blocks_of(plan.k), [&](int super_block) { return memory + super_block * kSuperBlock; },
        [&](int super_block) { return scales + super_block; });
  }
  sync_threads(kInputReady, kBlockThreads);
  auto* values = reinterpret_cast<float*>(memory + layout.values);
  const char* ring = memory + layout.ring;
  if (warp >= kMultipliers) {
    finish_tiles<kSums, X>(flow, memory, values, barriers, lane);
  } else if (std::is_same_v<typename Both::First, typename Both::Second> || !flow.second) {
    multiply_pieces<typename Both::First, kSums>(flow, memory, values, ring, barriers, warp, lane);
  } else {
    multiply_pieces<typename Both::Second, kSums>(flow, memory, values, ring, barriers, warp, lane);
  }
  if (plan.follows) wait_for_prerequisites();  // who waits for this kernel waits for that one, too
#endif
}

template <typename Both>
inline constexpr int kStaticBytes = 1024 + Codes<typename Both::First>::kCodebookBytes;  // at most, of shared memory

// No stages: there is no room.
template <typename Block>
Flow shape_of(const Runtime& use, const WeightPlan& plan) {
  using Format = Codes<Block>;
  using Both = FormatsOf<Block>;
  Flow flow{};
  flow.plan = plan;
  flow.second = !std::is_same_v<Block, typename Both::First>;
  flow.whole = Format::kWhole;
  flow.super_block_bytes = Format::kBytes;
  flow.tiles = JobTiles<kRows>(plan);
  const int super_blocks = super_blocks_of(plan.k);
  const int pieces = (super_blocks + kMostPiece - 1) / kMostPiece;
  flow.piece = (super_blocks + pieces - 1) / pieces;
  flow.team = std::min(kMultipliers, flow.piece);
  flow.teams = std::clamp(flow.tiles.total / use.multiprocessors, 1, std::min(kMultipliers / flow.team, kMostTeams));
  // Rows that are read together lie in different banks; four lanes read as many bytes at once.
  const int bytes = flow.piece * Format::kBytes + (Format::kWhole ? 0 : 30);
  constexpr int kStep = kOrderOf<Format> == Order::kEight ? 32 : 16;
  flow.pitch = (bytes + kStep - 1) / kStep * kStep;
  if (flow.pitch / kStep % 2 == 0) flow.pitch += kStep;
  // No more than there is to fetch: what is left lets the next kernel start early.
  const int stage_tiles = (flow.tiles.total + flow.teams - 1) / flow.teams;
  const int needed = (stage_tiles + use.multiprocessors - 1) / use.multiprocessors * pieces;
  flow.stages = std::min(needed, kMostStages);
  while (flow.stages > 0 && Layout<Both::kSums>(flow).bytes > use.shared_bytes - kStaticBytes<Both>) --flow.stages;
  if (flow.stages < std::min(needed, 2)) flow.stages = 0;
  return flow;
}

template <typename Block, typename X>
void launch(Device device, const WeightPlan& plan) {
  const Runtime& use = runtime(device);
  const Flow flow = shape_of<Block>(use, plan);
  const int blocks = std::min((flow.tiles.total + flow.teams - 1) / flow.teams, use.multiprocessors);
  using Both = FormatsOf<Block>;
  allow_shared<packed_row_kernel<Both, X>>(device, use.shared_bytes - kStaticBytes<Both>);
  launch_dependent(device, "matmul", packed_row_kernel<Both, X>, static_cast<unsigned>(blocks), kBlockThreads,
                   static_cast<size_t>(Layout<Both::kSums>(flow).bytes), flow);
}

}  // namespace

bool fits_packed_row(const Runtime& use, const WeightPlan& plan) {
  return fits_fetched_rows<false>(use, plan,
                                  [&](auto block) { return shape_of<decltype(block)>(use, plan).stages > 0; });
}

void multiply_packed_row(Device device, const WeightPlan& plan) {
  visit_codes(plan.dtype, [&](auto block) {
    using Block = decltype(block);
    if constexpr (!Codes<Block>::kBy32) {
      visit_input(plan.x_dtype, [&](auto x) { launch<Block, decltype(x)>(device, plan); });
    }
  });
}

}  // namespace wick::cuda
