#include "backends/cuda/dependent_launch.cuh"
#include "backends/cuda/input_rows.cuh"
#include "backends/cuda/launch.cuh"
#include "backends/cuda/matmul_plan.h"
#include "backends/cuda/mma.cuh"
#include "backends/cuda/weight_tiles.cuh"

namespace wick::cuda {
namespace {

constexpr int kWarps = kParts, kMostTokens = 8;
constexpr int kPad = 8;  // elements between rows of x, so that eight of them lie in different banks
static_assert(kWarps * 32 == kThreads);

// A kernel for up to kTokens rows of x: tiles of kRows (8 or 16) rows of weights, in pieces of 64 columns of which each
// warp has kStages under way. Small tiles keep longer stretches of memory under way, large ones need fewer
// instructions.
template <int kTokensOf, int kRowsOf, int kStagesOf>
struct FewRows {
  static constexpr int kTokens = kTokensOf, kRows = kRowsOf, kStages = kStagesOf;
  static constexpr int kBatch = kThreads / (kTokens * kRows) < 4 ? 2 : 4;  // tiles whose parts are added up together
  static constexpr int kStageBytes = kRows * 128;
  static constexpr int kRingBytes = kWarps * kStages * kStageBytes;
  static constexpr int kPartialFloats = kBatch * kWarps * kTokens * kRows;  // [kBatch, kWarps, kTokens, kRows]
  static constexpr int kInputAt = kRingBytes + 2 * kPartialFloats * 4;
};

struct NoExperts {};

// What the parts of a tile add up to, for one token and row.
template <int kTokens, int kRows>
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
template <typename T, typename Shape>
class Finish {
  static constexpr int kTokens = Shape::kTokens, kRows = Shape::kRows, kBatch = Shape::kBatch;

 public:
  // What is added to the sums is read ahead.
  __device__ __forceinline__ void start(const WeightPlan& plan, int first_tile, int tiles, int first_token) {
    static_assert(kBatch * kTokens * kRows <= kThreads);
    const int which = threadIdx.x / (kTokens * kRows), token = threadIdx.x / kRows % kTokens;
    const int tile = first_tile + which * static_cast<int>(gridDim.x), in_tile = threadIdx.x % kRows;
    mine_ = which < kBatch && token < plan.m && tile < tiles && (!plan.gated || in_tile < kRows / 2);
    if (!mine_) return;
    const TilePlace place = place_of_tile<kRows>(plan, tile);
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
    float sum = add_parts<kTokens, kRows>(partial, which, token, in_tile);
    if (job_->bias) sum += bias_;
    if (plan.gated) {
      float up = add_parts<kTokens, kRows>(partial, which, token, in_tile + kRows / 2);
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
template <typename T, int kRows>
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
      sum = __fadd_rn(sum, __fmul_rn(add_parts<1, kRows>(partial, i, 0, in_tile), share));
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

// Up to kTokens rows of x against all weights, a tile's rows of those at a time. Each warp takes one part of k and
// streams its weights through shared memory with its own copies, from tile to tile without a break; they are on their
// way before x is read. With experts a block of the grid's second dimension has one row of x and the weights of the
// expert that was chosen for it, or, mixing them, a row of x for each of a token's experts.
template <typename T, typename X, typename Experts, typename Shape>
__global__ void __launch_bounds__(kThreads, 2)
    few_rows_kernel(const __grid_constant__ WeightPlan plan, const __grid_constant__ Experts experts, int tiles) {
  constexpr int kTokens = Shape::kTokens, kRows = Shape::kRows, kStages = Shape::kStages, kBatch = Shape::kBatch;
  constexpr int kStageBytes = Shape::kStageBytes;
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

  // This lane copies 16 bytes of rows r, r + 4 and so on at column chunk c of 8 elements, chunks turned by the row so
  // that load_matrices meets each bank once. The second half of a tile's rows is up's if gated.
  const int r = lane / 8, c = lane % 8;
  const uint32_t ring = shared_address(memory) + static_cast<uint32_t>(warp * kStages * kStageBytes);
  const uint32_t even_place = ring + static_cast<uint32_t>(r * 128 + (c ^ r) * 16);
  const uint32_t odd_place = ring + static_cast<uint32_t>((r + 4) * 128 + (c ^ (r + 4)) * 16);
  constexpr int kCopies = kRows / 4;
  const T* from[kCopies] = {};
  int next_tile = block, next_item = 0, next_expert = 0, next_stage = 0, next_slot = 0;
  const auto start_next = [&] {
    if (stages > 0 && next_item < items) {
      if (next_stage == 0) {
        const TilePlace place = place_of_tile<kRows>(plan, next_tile);
        const int last = static_cast<int>(plan.jobs[place.job].n) - 1;
        const auto* weights = static_cast<const T*>(plan.jobs[place.job].weights);
        const auto* others = plan.gated ? static_cast<const T*>(plan.jobs[1].weights) : weights;
        if constexpr (kChooses) {
          if (mixes) expert = experts.ids[first_row + next_expert];
          weights = static_cast<const T*>(experts.first[expert]);
          others = plan.gated ? static_cast<const T*>(experts.second[expert]) : weights;
        }
        const int column = begin + c * 8;
#pragma unroll
        for (int i = 0; i < kCopies; ++i) {
          const bool other = i >= kCopies / 2;
          const int row = place.first_row + r + 4 * i - (other && plan.gated ? kRows / 2 : 0);
          from[i] = (other ? others : weights) + min(row, last) * plan.ld + column;
        }
      }
      const bool valid = begin + next_stage * 64 + c * 8 < end;
      const int source = valid ? next_stage * 64 : -(begin + c * 8);
      const auto slot = static_cast<uint32_t>(next_slot * kStageBytes);
#pragma unroll
      for (int i = 0; i < kCopies; ++i) {
        copy_async((i % 2 ? odd_place : even_place) + slot + i / 2 * 1024, from[i] + source, valid);
      }
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

  Finish<T, Shape> finish;
  if (!mixes) finish.start(plan, block, tiles, first_token);
  // x in the weights' dtype, [rows, pitch].
  auto* x = reinterpret_cast<uint32_t*>(memory + Shape::kInputAt);
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
  const uint32_t matrix_row = static_cast<uint32_t>(lane % kRows * 128);
  int slot = 0, tile = block, batch_tile = block, at_expert = 0;
  MixedTile<T, kRows> mixed;
  for (int item = 0; item < items; ++item) {
    float sum[4] = {};
    const uint32_t* x_at = x_row + (at_expert * pitch + begin) / 2;
    for (int stage = 0; stage < stages; ++stage, x_at += 32) {
      wait_copies<kStages - 2>();
      __syncwarp();
      start_next();
      const uint32_t place = ring + static_cast<uint32_t>(slot * kStageBytes) + matrix_row;
      if (++slot == kStages) slot = 0;
      if constexpr (kRows == 16) {  // weights on the left
#pragma unroll
        for (int step = 0; step < 4; ++step) {  // matrices: rows 0-7 and 8-15, then the same 8 columns on
          uint32_t w[4];
          load_matrices(w, place + static_cast<uint32_t>(((step * 2 + lane / 16) ^ lane % 8) * 16));
          mma<T>(sum, w, x_at[step * 8], x_at[step * 8 + 4]);
        }
      } else {  // weights on the right
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          uint32_t w[4];
          load_matrices(w, place + static_cast<uint32_t>(((half * 4 + lane / 8) ^ lane % 8) * 16));
#pragma unroll
          for (int step = 0; step < 2; ++step) {
            const int pair = half * 16 + step * 8;
            const uint32_t a[4] = {x_at[pair], 0, x_at[pair + 4], 0};
            mma<T>(sum, a, w[2 * step], w[2 * step + 1]);
          }
        }
      }
    }
    // Two buffers by turns: who still reads the one is behind the barrier that the other's writers wait at.
    auto* partial = reinterpret_cast<float*>(memory + Shape::kRingBytes) + item / kBatch % 2 * Shape::kPartialFloats;
    float* mine = partial + (item % kBatch * kWarps + warp) * kTokens * kRows;
#pragma unroll
    for (int e = 0; e < kRows / 4; ++e) {
      const int token = kRows == 16 ? 2 * t + e % 2 : g, row = kRows == 16 ? g + e / 2 * 8 : 2 * t + e;
      if (token < kTokens) mine[token * kRows + row] = sum[e];
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

template <typename Shape>
size_t shared_bytes(int64_t rows, int64_t k) {
  const int64_t pitch = (k + 63) / 64 * 64 + kPad;
  return static_cast<size_t>(Shape::kInputAt + rows * pitch * 2);
}

using SeveralTokens = FewRows<kMostTokens, 16, 4>;
using LongToken = FewRows<1, 8, 8>;    // for much memory
using ShortToken = FewRows<1, 16, 6>;  // for little, which is there soon
constexpr int64_t kMuch = int64_t{16} << 20;

template <typename T, typename X, typename Shape>
void launch(Device device, const WeightPlan& plan, int per_processor) {
  const Runtime& use = runtime(device);
  constexpr auto kKernel = few_rows_kernel<T, X, NoExperts, Shape>;
  allow_shared<kKernel>(device, use.shared_bytes - 1024);
  const int tiles = tiles_of_plan<Shape::kRows>(plan);
  const auto blocks = static_cast<unsigned>(std::min<int64_t>(tiles, use.multiprocessors * per_processor));
  launch_dependent(device, "matmul", kKernel, blocks, kThreads, shared_bytes<Shape>(plan.m, plan.k), plan, NoExperts{},
                   tiles);
}

template <typename T, typename X>
void launch(Device device, const WeightPlan& plan) {
  int64_t bytes = 0;
  for (int i = 0; i < plan.count; ++i) bytes += plan.jobs[i].n * plan.k * 2;
  if (plan.m > 1) return launch<T, X, SeveralTokens>(device, plan, 2);
  const auto room = static_cast<size_t>(runtime(device).shared_bytes - 1024);
  const bool is_long = bytes > kMuch || shared_bytes<ShortToken>(1, plan.k) > room;
  is_long ? launch<T, X, LongToken>(device, plan, 2) : launch<T, X, ShortToken>(device, plan, 1);
}

template <typename T>
void launch_experts(Device device, const WeightPlan& plan, const ExpertTable& experts, int64_t tokens) {
  const Runtime& use = runtime(device);
  constexpr auto kKernel = few_rows_kernel<T, float, ExpertTable, ShortToken>;
  allow_shared<kKernel>(device, use.shared_bytes - 1024);
  const int64_t rows = experts.shares ? tokens : tokens * experts.chosen, each = experts.shares ? experts.chosen : 1;
  const int64_t tiles = tiles_of_plan<ShortToken::kRows>(plan), room = use.multiprocessors * 2;
  const dim3 grid(static_cast<unsigned>(std::min(tiles, (room + rows - 1) / rows)), static_cast<unsigned>(rows));
  launch_dependent(device, "experts", kKernel, grid, kThreads, shared_bytes<ShortToken>(each, plan.k), plan, experts,
                   static_cast<int>(tiles));
}

constexpr size_t kMostShared = 160 * 1024;

}  // namespace

// With little room left, too few blocks share a multiprocessor to keep the memory busy.
bool fits_few_rows(const Runtime& use, const WeightPlan& plan) {
  int64_t most = 0;
  for (int i = 0; i < plan.count; ++i) most = std::max(most, plan.jobs[i].n);
  return most < int64_t{1} << 29 && plan.m <= kMostTokens && plan.k % 8 == 0 && aligned(plan.x, 16) &&
         shared_bytes<SeveralTokens>(plan.m, plan.k) <= std::min(static_cast<size_t>(use.shared_bytes), kMostShared);
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
  return fits_few_rows(use, plan) && shared_bytes<ShortToken>(rows, plan.k) <= kMostShared;
}

void multiply_experts(Device device, const WeightPlan& plan, const ExpertTable& experts, int64_t tokens) {
  plan.dtype == DType::kF16 ? launch_experts<__half>(device, plan, experts, tokens)
                            : launch_experts<__nv_bfloat16>(device, plan, experts, tokens);
}

}  // namespace wick::cuda
