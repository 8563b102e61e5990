#include <cstdio>
#include <cstdlib>

#include "backends/cuda/dependent_launch.cuh"
#include "backends/cuda/input_rows.cuh"
#include "backends/cuda/launch.cuh"
#include "backends/cuda/matmul_plan.h"
#include "backends/cuda/mma.cuh"

namespace wick::cuda {
namespace {

constexpr int kWarps = kParts, kRows = 16;  // weights' rows of a tile
constexpr int kStageBytes = kRows * 128;    // pieces of 64 columns; each warp has several under way
constexpr int kMostTokens = 8;
constexpr int kPad = 8;  // elements between rows of x, so that eight of them lie in different banks
static_assert(kWarps * 32 == kThreads);

// Of a kernel for up to kTokens rows of x.
template <int kTokens, int kStages>
struct FewRows {
  static constexpr int kBatch = kTokens == 1 ? 4 : 2;  // tiles whose parts are added up together
  static constexpr int kRingBytes = kWarps * kStages * kStageBytes;
  static constexpr int kPartialFloats = kBatch * kWarps * kTokens * kRows;  // [kBatch, kWarps, kTokens, kRows]
  static constexpr int kInputAt = kRingBytes + 2 * kPartialFloats * 4;
};

// Which rows of which weights a tile is. Gated: the first half from gate, the second the same rows of up.
struct TilePlace {
  int job, first_row;
};
__device__ __forceinline__ TilePlace place_of(const WeightPlan& plan, int tile) {
  if (plan.gated) return {0, tile * (kRows / 2)};
  int job = 0;
  for (; job + 1 < plan.count; ++job) {
    const int tiles = (static_cast<int>(plan.jobs[job].n) + kRows - 1) / kRows;
    if (tile < tiles) break;
    tile -= tiles;
  }
  return {job, tile * kRows};
}

struct NoExperts {};

// What the parts of a tile add up to, for one token and row.
template <int kTokens>
__device__ __forceinline__ float add_parts(const float* partial, int tile, int token, int row) {
  float total = 0;
#pragma unroll
  for (int i = 0; i < kWarps; ++i) total += partial[((tile * kWarps + i) * kTokens + token) * kRows + row];
  return total;
}

template <typename T>
__device__ __forceinline__ void store(const WeightPlan& plan, const WeightJob& job, int64_t at, float sum) {
  if (plan.out_dtype == DType::kF32) {
    static_cast<float*>(job.out)[at] = sum;
  } else {
    static_cast<T*>(job.out)[at] = to<T>(sum);
  }
}

// Adds up the parts of a batch of tiles, a thread for each row of weights and token; all threads of the block.
template <typename T, int kTokens, int kBatch>
class Finish {
 public:
  // What is added to the sums is read ahead.
  __device__ __forceinline__ void start(const WeightPlan& plan, int first_tile, int tiles, int first_token) {
    static_assert(kBatch * kTokens * kRows <= kThreads);
    const int which = threadIdx.x / (kTokens * kRows), token = threadIdx.x / kRows % kTokens;
    const int tile = first_tile + which * static_cast<int>(gridDim.x), in_tile = threadIdx.x % kRows;
    mine_ = which < kBatch && token < plan.m && tile < tiles && (!plan.gated || in_tile < kRows / 2);
    if (!mine_) return;
    const TilePlace place = place_of(plan, tile);
    job_ = &plan.jobs[place.job];
    const int row = place.first_row + in_tile;
    mine_ = row < job_->n;
    if (!mine_) return;
    at_ = (first_token + token) * job_->n + row;
    if (job_->bias) bias_ = job_->bias[row];
    if (plan.gated && plan.jobs[1].bias) up_bias_ = plan.jobs[1].bias[row];
    if (job_->residual) residual_ = job_->residual[at_];
  }
  __device__ __forceinline__ void end(const WeightPlan& plan, const float* partial, int count) const {
    __syncthreads();
    const int which = threadIdx.x / (kTokens * kRows), token = threadIdx.x / kRows % kTokens;
    if (!mine_ || which >= count) return;
    const int in_tile = threadIdx.x % kRows;
    float sum = add_parts<kTokens>(partial, which, token, in_tile);
    if (job_->bias) sum += bias_;
    if (plan.gated) {
      float up = add_parts<kTokens>(partial, which, token, in_tile + kRows / 2);
      if (plan.jobs[1].bias) up += up_bias_;
      sum = gated(sum, up);
    }
    if (job_->residual) sum += residual_;
    store<T>(plan, *job_, at_, sum);
  }

 private:
  bool mine_ = false;
  const WeightJob* job_ = nullptr;
  int64_t at_ = 0;
  float bias_ = 0, up_bias_ = 0, residual_ = 0;
};

// The answers of one token's experts times their shares, added up by the first lanes, some at a time; tiles of the same
// rows and one expert after the other.
template <typename T>
struct MixedTile {
  float sum = 0;
  int next = 0;  // expert

  __device__ __forceinline__ void add(const WeightPlan& plan, const ExpertTable& experts, const float* partial,
                                      int tile, int count) {
    __syncthreads();
    if (threadIdx.x >= kRows) return;
    const WeightJob& job = plan.jobs[0];
    const auto in_tile = static_cast<int>(threadIdx.x);
    for (int i = 0; i < count; ++i) {
      const float share = experts.shares[blockIdx.y * experts.chosen + next];
      sum = __fadd_rn(sum, __fmul_rn(add_parts<1>(partial, i, 0, in_tile), share));
      if (++next < experts.chosen) continue;
      next = 0;
      const int row = tile * kRows + in_tile;
      if (row < job.n) {
        const int64_t at = blockIdx.y * job.n + row;
        store<T>(plan, job, at, job.residual ? sum + job.residual[at] : sum);
      }
      sum = 0;
      tile += static_cast<int>(gridDim.x);
    }
  }
};

// Up to kTokens rows of x against all weights, 16 rows of those at a time. Each warp takes one part of k and streams
// its weights through shared memory with its own copies, from tile to tile without a break; they are on their way
// before x is read. With experts a block of the grid's second dimension has one row of x and the weights of the expert
// that was chosen for it, or, mixing them, a row of x for each of a token's experts.
template <typename T, typename X, typename Experts, int kTokens, int kStages>
__global__ void __launch_bounds__(kThreads, kTokens == 1 ? 3 : 2)
    few_rows_kernel(const __grid_constant__ WeightPlan plan, const __grid_constant__ Experts experts, int tiles) {
  using Memory = FewRows<kTokens, kStages>;
  constexpr int kBatch = Memory::kBatch;
  extern __shared__ __align__(128) char memory[];
  __shared__ typename InputRow<X, false>::Shared reduced;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const auto k = static_cast<int>(plan.k);
  const int part = static_cast<int>(part_size(k)), begin = min(k, warp * part), end = min(k, begin + part);
  const int stages = (end - begin + 63) / 64;
  constexpr bool kChooses = std::is_same_v<Experts, ExpertTable>;
  bool mixes = false;
  int expert = 0, first_token = 0, first_row = 0, rows = static_cast<int>(plan.m), each = 1;
  if constexpr (kChooses) {
    mixes = experts.shares;
    first_token = static_cast<int>(blockIdx.y);
    first_row = mixes ? first_token * experts.chosen : first_token / experts.chosen;
    if (mixes) rows = each = experts.chosen;
  }
  const int blocks = static_cast<int>(gridDim.x), block = static_cast<int>(blockIdx.x);
  const int items = (tiles - block + blocks - 1) / blocks * each;  // tiles, with each of the experts that are mixed

  // This lane copies 16 bytes of rows r, r + 4, r + 8 and r + 12 at column chunk c of 8 elements, chunks turned by the
  // row so that load_matrices meets each bank once. Rows from r + 8 on are up's if gated.
  const int r = lane / 8, c = lane % 8;
  const uint32_t ring = shared_address(memory) + static_cast<uint32_t>(warp * kStages * kStageBytes);
  const uint32_t even_place = ring + static_cast<uint32_t>(r * 128 + (c ^ r) * 16);
  const uint32_t odd_place = ring + static_cast<uint32_t>((r + 4) * 128 + (c ^ (r + 4)) * 16);
  const T* from[4] = {};
  int next_tile = block, next_item = 0, next_expert = 0, next_stage = 0, next_slot = 0;
  const auto start_next = [&] {
    if (stages > 0 && next_item < items) {
      if (next_stage == 0) {
        const TilePlace place = place_of(plan, next_tile);
        const int last = static_cast<int>(plan.jobs[place.job].n) - 1;
        const auto* weights = static_cast<const T*>(plan.jobs[place.job].weights);
        const auto* others = plan.gated ? static_cast<const T*>(plan.jobs[1].weights) : weights;
        if constexpr (kChooses) {
          if (mixes) expert = experts.ids[first_row + next_expert];
          weights = static_cast<const T*>(experts.first[expert]);
          others = plan.gated ? static_cast<const T*>(experts.second[expert]) : weights;
        }
        const int second = place.first_row + r + (plan.gated ? 0 : kRows / 2), column = begin + c * 8;
        from[0] = weights + min(place.first_row + r, last) * plan.ld + column;
        from[1] = weights + min(place.first_row + r + 4, last) * plan.ld + column;
        from[2] = others + min(second, last) * plan.ld + column;
        from[3] = others + min(second + 4, last) * plan.ld + column;
      }
      const bool valid = begin + next_stage * 64 + c * 8 < end;
      const int source = valid ? next_stage * 64 : -(begin + c * 8);
      const auto slot = static_cast<uint32_t>(next_slot * kStageBytes);
      copy_async(even_place + slot, from[0] + source, valid);
      copy_async(odd_place + slot, from[1] + source, valid);
      copy_async(even_place + slot + 1024, from[2] + source, valid);
      copy_async(odd_place + slot + 1024, from[3] + source, valid);
      if (++next_stage == stages) {
        next_stage = 0;
        ++next_item;
        if (++next_expert == each) {
          next_expert = 0;
          next_tile += blocks;
        }
      }
      if (++next_slot == kStages) next_slot = 0;
    }
    commit_copies();
  };
  // Who lets the next kernel start when the one before has ended, lets it read what that one wrote.
  const bool late = kChooses && !mixes;
  if (late || !plan.steady) wait_for_previous();
  let_next_start();
  if constexpr (kChooses) {
    if (!mixes) expert = experts.ids[blockIdx.y];
  }
  fetch_norm(plan);
  for (int i = 0; i < kStages - 1; ++i) start_next();
  if (!late && plan.steady) wait_for_previous();

  Finish<T, kTokens, kBatch> finish;
  if (!mixes) finish.start(plan, block, tiles, first_token);
  // x in the weights' dtype, [rows, pitch].
  auto* x = reinterpret_cast<uint32_t*>(memory + Memory::kInputAt);
  const int pitch = (k + 63) / 64 * 64 + kPad;
  for (int at = 0; at < rows; ++at) {
    const InputRow<X, false> row(plan, first_row + at, reduced);
    row.each([&](int64_t i, float4 four) {
      *reinterpret_cast<uint2*>(x + (at * pitch + static_cast<int>(i)) / 2) = {round_pair<T>(four.x, four.y),
                                                                               round_pair<T>(four.z, four.w)};
    });
    for (int i = k + static_cast<int>(threadIdx.x) * 2; i < pitch - kPad; i += kThreads * 2) {
      x[(at * pitch + i) / 2] = 0;
    }
  }
  __syncthreads();

  const int g = lane / 4, t = lane % 4;
  const uint32_t* x_row = x + (g < rows && !mixes ? g : 0) * pitch / 2 + t;  // columns beyond m go nowhere
  const uint32_t matrix_row = static_cast<uint32_t>(lane % 16 * 128);
  int slot = 0, tile = block, batch_tile = block, at_expert = 0;
  MixedTile<T> mixed;
  for (int item = 0; item < items; ++item) {
    float sum[4] = {};
    const uint32_t* x_at = x_row + (at_expert * pitch + begin) / 2;
    for (int stage = 0; stage < stages; ++stage, x_at += 32) {
      wait_copies<kStages - 2>();
      __syncwarp();
      start_next();
      const uint32_t place = ring + static_cast<uint32_t>(slot * kStageBytes) + matrix_row;
      if (++slot == kStages) slot = 0;
#pragma unroll
      for (int step = 0; step < 4; ++step) {  // matrices: rows 0-7 and 8-15, then the same 8 columns on
        uint32_t w[4];
        load_matrices(w, place + static_cast<uint32_t>(((step * 2 + lane / 16) ^ lane % 8) * 16));
        mma<T>(sum, w, x_at[step * 8], x_at[step * 8 + 4]);
      }
    }
    // Two buffers by turns: who still reads the one is behind the barrier that the other's writers wait at.
    auto* partial = reinterpret_cast<float*>(memory + Memory::kRingBytes) + item / kBatch % 2 * Memory::kPartialFloats;
    float* mine = partial + (item % kBatch * kWarps + warp) * kTokens * kRows + g;
#pragma unroll
    for (int e = 0; e < 4; ++e) {  // row g + e / 2 * 8, token 2 t + e % 2
      const int token = 2 * t + e % 2;
      if (token < kTokens) mine[token * kRows + e / 2 * 8] = sum[e];
    }
    if (++at_expert == each) {
      at_expert = 0;
      tile += blocks;
    }
    if (item % kBatch != kBatch - 1 && item + 1 < items) continue;
    if constexpr (kChooses) {
      if (mixes) {
        mixed.add(plan, experts, partial, batch_tile, item % kBatch + 1);
        batch_tile = tile;
        continue;
      }
    }
    finish.end(plan, partial, item % kBatch + 1);
    finish.start(plan, tile, tiles, first_token);
  }
  wait_copies<0>();
}

template <int kTokens, int kStages>
size_t shared_bytes(int64_t rows, int64_t k) {
  const int64_t pitch = (k + 63) / 64 * 64 + kPad;
  return static_cast<size_t>(FewRows<kTokens, kStages>::kInputAt + rows * pitch * 2);
}

int64_t tile_count(const WeightPlan& plan) {
  if (plan.gated) return (plan.jobs[0].n + kRows / 2 - 1) / (kRows / 2);
  int64_t tiles = 0;
  for (int i = 0; i < plan.count; ++i) tiles += (plan.jobs[i].n + kRows - 1) / kRows;
  return tiles;
}

// How many blocks share a multiprocessor: with one row two, which leaves room for the next kernel's first blocks to
// fetch their weights.
struct Tuning {
  int stages = 3, blocks = 2;
};
Tuning tuning(const char* name) {
  Tuning tuning;
  if (const char* text = std::getenv(name)) std::sscanf(text, "%d,%d", &tuning.stages, &tuning.blocks);
  return tuning;
}

template <typename T, typename X, int kTokens, int kStages>
void launch(Device device, const WeightPlan& plan, int per_processor) {
  const Runtime& use = runtime(device);
  constexpr auto kKernel = few_rows_kernel<T, X, NoExperts, kTokens, kStages>;
  allow_shared<kKernel>(device, use.shared_bytes - 1024);
  const int64_t tiles = tile_count(plan);
  const auto blocks = static_cast<unsigned>(std::min<int64_t>(tiles, use.multiprocessors * per_processor));
  launch_dependent(device, "matmul", kKernel, blocks, kThreads, shared_bytes<kTokens, kStages>(plan.m, plan.k), plan,
                   NoExperts{}, static_cast<int>(tiles));
}

template <typename T, typename X>
void launch(Device device, const WeightPlan& plan) {
  static const Tuning tuned = tuning("WICK_TUNE");
  if (plan.m > 1) return launch<T, X, kMostTokens, 4>(device, plan, 2);
  switch (tuned.stages) {
    case 3: return launch<T, X, 1, 3>(device, plan, tuned.blocks);
    case 4: return launch<T, X, 1, 4>(device, plan, tuned.blocks);
    default: return launch<T, X, 1, 6>(device, plan, tuned.blocks);
  }
}

template <typename T, int kStages>
void launch_experts(Device device, const WeightPlan& plan, const ExpertTable& experts, int64_t tokens,
                    int per_processor) {
  const Runtime& use = runtime(device);
  constexpr auto kKernel = few_rows_kernel<T, float, ExpertTable, 1, kStages>;
  allow_shared<kKernel>(device, use.shared_bytes - 1024);
  const int64_t rows = experts.shares ? tokens : tokens * experts.chosen, each = experts.shares ? experts.chosen : 1;
  const int64_t tiles = tile_count(plan), room = use.multiprocessors * per_processor;
  const dim3 grid(static_cast<unsigned>(std::min(tiles, (room + rows - 1) / rows)), static_cast<unsigned>(rows));
  launch_dependent(device, "experts", kKernel, grid, kThreads, shared_bytes<1, kStages>(each, plan.k), plan, experts,
                   static_cast<int>(tiles));
}

template <typename T>
void launch_experts(Device device, const WeightPlan& plan, const ExpertTable& experts, int64_t tokens) {
  static const Tuning tuned = tuning("WICK_TUNE_EXPERTS");
  switch (tuned.stages) {
    case 3: return launch_experts<T, 3>(device, plan, experts, tokens, tuned.blocks);
    default: return launch_experts<T, 4>(device, plan, experts, tokens, tuned.blocks);
  }
}

constexpr size_t kMostShared = 160 * 1024;

}  // namespace

// With little room left, too few blocks share a multiprocessor to keep the memory busy.
bool fits_few_rows(const Runtime& use, const WeightPlan& plan) {
  int64_t most = 0;
  for (int i = 0; i < plan.count; ++i) most = std::max(most, plan.jobs[i].n);
  return most < int64_t{1} << 29 && plan.m <= kMostTokens && plan.k % 8 == 0 && aligned(plan.x, 16) &&
         shared_bytes<kMostTokens, 4>(plan.m, plan.k) <= std::min(static_cast<size_t>(use.shared_bytes), kMostShared);
}

void multiply_few_rows(Device device, const WeightPlan& plan) {
  const bool half = plan.dtype == DType::kF16;
  if (plan.x_dtype == DType::kF32) {
    half ? launch<__half, float>(device, plan) : launch<__nv_bfloat16, float>(device, plan);
  } else {
    half ? launch<__half, __half>(device, plan) : launch<__nv_bfloat16, __nv_bfloat16>(device, plan);
  }
}

bool fits_experts(const Runtime& use, const WeightPlan& plan, int64_t rows) {
  return fits_few_rows(use, plan) && shared_bytes<1, 4>(rows, plan.k) <= kMostShared;
}

void multiply_experts(Device device, const WeightPlan& plan, const ExpertTable& experts, int64_t tokens) {
  plan.dtype == DType::kF16 ? launch_experts<__half>(device, plan, experts, tokens)
                            : launch_experts<__nv_bfloat16>(device, plan, experts, tokens);
}

}  // namespace wick::cuda
