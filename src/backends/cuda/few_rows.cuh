#pragma once

#include "backends/cuda/dependent_launch.cuh"
#include "backends/cuda/input_rows.cuh"
#include "backends/cuda/matmul_plan.h"
#include "backends/cuda/mma.cuh"

// Up to eight rows of x against weights of f16 or bf16, by blocks of kThreads threads.
namespace wick::cuda {

inline constexpr int kFewTileRows = 16;                 // of weights
inline constexpr int kFewStageBytes = kFewTileRows * 128;  // pieces of 64 columns; each warp has several under way
inline constexpr int kMostFewTokens = 8;
inline constexpr int kInputPad = 8;  // elements between rows of x, so that eight of them lie in different banks
static_assert(kParts * 32 == kThreads);


// Shared memory for up to kTokens rows of x.
template <int kTokens, int kStages>
struct FewRowsMemory {
  static constexpr int kBatch = kTokens == 1 ? 4 : 2;  // tiles whose parts are added up together
  static constexpr int kRingBytes = kParts * kStages * kFewStageBytes;
  static constexpr int kPartialFloats = kBatch * kParts * kTokens * kFewTileRows;  // [kBatch, kParts, kTokens, kFewTileRows]
  static constexpr int kInputAt = kRingBytes + 2 * kPartialFloats * 4;
};

// Which rows of which weights a tile is. Gated: the first half from gate, the second the same rows of up.
struct FewRowsTile {
  int job, first_row;
};
__device__ __forceinline__ FewRowsTile few_rows_tile(const WeightPlan& plan, int tile) {
  if (plan.gated) return {0, tile * (kFewTileRows / 2)};
  int job = 0;
  for (; job + 1 < plan.count; ++job) {
    const int tiles = (static_cast<int>(plan.jobs[job].n) + kFewTileRows - 1) / kFewTileRows;
    if (tile < tiles) break;
    tile -= tiles;
  }
  return {job, tile * kFewTileRows};
}

struct NoExperts {};

// What the parts of a tile add up to, for one token and row.
template <int kTokens>
__device__ __forceinline__ float add_few_parts(const float* partial, int tile, int token, int row) {
  float total = 0;
#pragma unroll
  for (int i = 0; i < kParts; ++i) total += partial[((tile * kParts + i) * kTokens + token) * kFewTileRows + row];
  return total;
}

template <typename T>
__device__ __forceinline__ void store_few(const WeightPlan& plan, const WeightJob& job, int64_t at, float sum) {
  if (plan.out_dtype == DType::kF32) {
    static_cast<float*>(job.out)[at] = sum;
  } else {
    static_cast<T*>(job.out)[at] = to<T>(sum);
  }
}

// Adds up the parts of a batch of tiles, a thread for each row of weights and token; all threads of the block.
template <typename T, int kTokens, int kBatch>
class FewRowsFinish {
 public:
  // What is added to the sums is read ahead.
  __device__ __forceinline__ void start(const WeightPlan& plan, int first_tile, int blocks, int tiles,
                                        int first_token) {
    static_assert(kBatch * kTokens * kFewTileRows <= kThreads);
    const int which = threadIdx.x / (kTokens * kFewTileRows), token = threadIdx.x / kFewTileRows % kTokens;
    const int tile = first_tile + which * blocks, in_tile = threadIdx.x % kFewTileRows;
    mine_ = which < kBatch && token < plan.m && tile < tiles && (!plan.gated || in_tile < kFewTileRows / 2);
    if (!mine_) return;
    const FewRowsTile place = few_rows_tile(plan, tile);
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
    const int which = threadIdx.x / (kTokens * kFewTileRows), token = threadIdx.x / kFewTileRows % kTokens;
    if (!mine_ || which >= count) return;
    const int in_tile = threadIdx.x % kFewTileRows;
    float sum = add_few_parts<kTokens>(partial, which, token, in_tile);
    if (job_->bias) sum += bias_;
    if (plan.gated) {
      float up = add_few_parts<kTokens>(partial, which, token, in_tile + kFewTileRows / 2);
      if (plan.jobs[1].bias) up += up_bias_;
      sum = gated(sum, up);
    }
    if (job_->residual) sum += residual_;
    store_few<T>(plan, *job_, at_, sum);
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
struct MixedRows {
  float sum = 0;
  int next = 0;  // expert

  __device__ __forceinline__ void add(const WeightPlan& plan, const ExpertTable& experts, const float* partial,
                                      int token, int tile, int blocks, int count) {
    __syncthreads();
    if (threadIdx.x >= kFewTileRows) return;
    const WeightJob& job = plan.jobs[0];
    const auto in_tile = static_cast<int>(threadIdx.x);
    for (int i = 0; i < count; ++i) {
      const float share = experts.shares[token * experts.chosen + next];
      sum = __fadd_rn(sum, __fmul_rn(add_few_parts<1>(partial, i, 0, in_tile), share));
      if (++next < experts.chosen) continue;
      next = 0;
      const int row = tile * kFewTileRows + in_tile;
      if (row < job.n) {
        const int64_t at = token * job.n + row;
        store_few<T>(plan, job, at, job.residual ? sum + job.residual[at] : sum);
      }
      sum = 0;
      tile += blocks;
    }
  }
};

// One block's share. Each warp takes one part of k and streams its weights through shared memory with its own copies,
// from tile to tile without a break; they are on their way before x is read. With experts a block has one row of x and
// the weights of the expert that was chosen for it, or, mixing them, a row of x for each of a token's experts.
//
//   work.plan_tiles(...); work.start_copies(...);   // nothing that other kernels write is read
//   work.multiply(...);
template <typename T, typename X, typename Experts, int kTokens, int kStages>
class FewRows {
 public:
  using Memory = FewRowsMemory<kTokens, kStages>;
  static constexpr bool kChooses = std::is_same_v<Experts, ExpertTable>;

  // Block `block` of `blocks` that share out the tiles of a row (with experts) or of all rows.
  __device__ __forceinline__ void plan_tiles(const WeightPlan& plan, const Experts& experts, int tiles, int block,
                                             int blocks, int row, char* memory) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const auto k = static_cast<int>(plan.k);
    const int part = static_cast<int>(part_size(k));
    begin_ = min(k, warp * part);
    end_ = min(k, begin_ + part);
    stages_ = (end_ - begin_ + 63) / 64;
    tiles_ = tiles;
    block_ = block;
    blocks_ = blocks;
    rows_ = static_cast<int>(plan.m);
    each_ = 1;
    mixes_ = false;
    first_token_ = first_row_ = 0;
    if constexpr (kChooses) {
      mixes_ = experts.shares;
      first_token_ = row;
      first_row_ = mixes_ ? row * experts.chosen : row / experts.chosen;
      if (mixes_) rows_ = each_ = experts.chosen;
    }
    items_ = block < tiles ? (tiles - block + blocks - 1) / blocks * each_ : 0;
    ring_ = shared_address(memory) + static_cast<uint32_t>(warp * kStages * kFewStageBytes);
    next_tile_ = block;
    next_item_ = next_expert_ = next_stage_ = next_slot_ = 0;
    const int r = lane / 8, c = lane % 8;
    even_place_ = ring_ + static_cast<uint32_t>(r * 128 + (c ^ r) * 16);
    odd_place_ = ring_ + static_cast<uint32_t>((r + 4) * 128 + (c ^ (r + 4)) * 16);
  }

  __device__ __forceinline__ void start_copies(const WeightPlan& plan, const Experts& experts) {
    if constexpr (kChooses) {
      if (!mixes_) expert_ = experts.ids[first_token_];
    }
    for (int i = 0; i < kStages - 1; ++i) start_next(plan, experts);
  }

  __device__ __forceinline__ void multiply(const WeightPlan& plan, const Experts& experts, char* memory,
                                           typename InputRow<X, false>::Shared& reduced) {
    constexpr int kBatch = Memory::kBatch;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    if (items_ == 0) return;
    FewRowsFinish<T, kTokens, kBatch> finish;
    if (!mixes_) finish.start(plan, block_, blocks_, tiles_, first_token_);
    // x in the weights' dtype, [rows, pitch].
    auto* x = reinterpret_cast<uint32_t*>(memory + Memory::kInputAt);
    const auto k = static_cast<int>(plan.k);
    const int pitch = (k + 63) / 64 * 64 + kInputPad;
    for (int at = 0; at < rows_; ++at) {
      const InputRow<X, false> row(plan, first_row_ + at, reduced);
      row.each([&](int64_t i, float4 four) {
        *reinterpret_cast<uint2*>(x + (at * pitch + static_cast<int>(i)) / 2) = {round_pair<T>(four.x, four.y),
                                                                                 round_pair<T>(four.z, four.w)};
      });
      for (int i = k + static_cast<int>(threadIdx.x) * 2; i < pitch - kInputPad; i += kThreads * 2) {
        x[(at * pitch + i) / 2] = 0;
      }
    }
    __syncthreads();

    const uint32_t* x_row = x + (g < rows_ && !mixes_ ? g : 0) * pitch / 2 + t;  // columns beyond m go nowhere
    const uint32_t matrix_row = static_cast<uint32_t>(lane % 16 * 128);
    int slot = 0, tile = block_, batch_tile = block_, at_expert = 0;
    MixedRows<T> mixed;
    for (int item = 0; item < items_; ++item) {
      float sum[4] = {};
      const uint32_t* x_at = x_row + (at_expert * pitch + begin_) / 2;
      for (int stage = 0; stage < stages_; ++stage, x_at += 32) {
        wait_copies<kStages - 2>();
        __syncwarp();
        start_next(plan, experts);
        const uint32_t place = ring_ + static_cast<uint32_t>(slot * kFewStageBytes) + matrix_row;
        if (++slot == kStages) slot = 0;
#pragma unroll
        for (int step = 0; step < 4; ++step) {  // matrices: rows 0-7 and 8-15, then the same 8 columns on
          uint32_t w[4];
          load_matrices(w, place + static_cast<uint32_t>(((step * 2 + lane / 16) ^ lane % 8) * 16));
          mma<T>(sum, w, x_at[step * 8], x_at[step * 8 + 4]);
        }
      }
      // Two buffers by turns: who still reads the one is behind the barrier that the other's writers wait at.
      auto* partial =
          reinterpret_cast<float*>(memory + Memory::kRingBytes) + item / kBatch % 2 * Memory::kPartialFloats;
      float* mine = partial + (item % kBatch * kParts + warp) * kTokens * kFewTileRows + g;
#pragma unroll
      for (int e = 0; e < 4; ++e) {  // row g + e / 2 * 8, token 2 t + e % 2
        const int token = 2 * t + e % 2;
        if (token < kTokens) mine[token * kFewTileRows + e / 2 * 8] = sum[e];
      }
      if (++at_expert == each_) {
        at_expert = 0;
        tile += blocks_;
      }
      if (item % kBatch != kBatch - 1 && item + 1 < items_) continue;
      if constexpr (kChooses) {
        if (mixes_) {
          mixed.add(plan, experts, partial, first_token_, batch_tile, blocks_, item % kBatch + 1);
          batch_tile = tile;
          continue;
        }
      }
      finish.end(plan, partial, item % kBatch + 1);
      finish.start(plan, tile, blocks_, tiles_, first_token_);
    }
    wait_copies<0>();
  }

 private:
  // This lane copies 16 bytes of rows r, r + 4, r + 8 and r + 12 at column chunk c of 8 elements, chunks turned by the
  // row so that load_matrices meets each bank once. Rows from r + 8 on are up's if gated.
  __device__ __forceinline__ void start_next(const WeightPlan& plan, const Experts& experts) {
    if (stages_ > 0 && next_item_ < items_) {
      const int r = threadIdx.x % 32 / 8, c = threadIdx.x % 8;
      if (next_stage_ == 0) {
        const FewRowsTile place = few_rows_tile(plan, next_tile_);
        const int last = static_cast<int>(plan.jobs[place.job].n) - 1;
        const auto* weights = static_cast<const T*>(plan.jobs[place.job].weights);
        const auto* others = plan.gated ? static_cast<const T*>(plan.jobs[1].weights) : weights;
        if constexpr (kChooses) {
          if (mixes_) expert_ = experts.ids[first_row_ + next_expert_];
          weights = static_cast<const T*>(experts.first[expert_]);
          others = plan.gated ? static_cast<const T*>(experts.second[expert_]) : weights;
        }
        const int second = place.first_row + r + (plan.gated ? 0 : kFewTileRows / 2), column = begin_ + c * 8;
        from_[0] = weights + min(place.first_row + r, last) * plan.ld + column;
        from_[1] = weights + min(place.first_row + r + 4, last) * plan.ld + column;
        from_[2] = others + min(second, last) * plan.ld + column;
        from_[3] = others + min(second + 4, last) * plan.ld + column;
      }
      const bool valid = begin_ + next_stage_ * 64 + c * 8 < end_;
      const int source = valid ? next_stage_ * 64 : -(begin_ + c * 8);
      const auto slot = static_cast<uint32_t>(next_slot_ * kFewStageBytes);
      copy_async(even_place_ + slot, from_[0] + source, valid);
      copy_async(odd_place_ + slot, from_[1] + source, valid);
      copy_async(even_place_ + slot + 1024, from_[2] + source, valid);
      copy_async(odd_place_ + slot + 1024, from_[3] + source, valid);
      if (++next_stage_ == stages_) {
        next_stage_ = 0;
        ++next_item_;
        if (++next_expert_ == each_) {
          next_expert_ = 0;
          next_tile_ += blocks_;
        }
      }
      if (++next_slot_ == kStages) next_slot_ = 0;
    }
    commit_copies();
  }

  int begin_, end_, stages_;  // of this warp's part of k
  int tiles_, block_, blocks_, items_;  // items: tiles, with each of the experts that are mixed
  int rows_, each_, first_token_, first_row_, expert_;
  bool mixes_;
  uint32_t ring_, even_place_, odd_place_;
  const T* from_[4];
  int next_tile_, next_item_, next_expert_, next_stage_, next_slot_;
};

inline int64_t few_rows_tiles(const WeightPlan& plan) {
  if (plan.gated) return (plan.jobs[0].n + kFewTileRows / 2 - 1) / (kFewTileRows / 2);
  int64_t tiles = 0;
  for (int i = 0; i < plan.count; ++i) tiles += (plan.jobs[i].n + kFewTileRows - 1) / kFewTileRows;
  return tiles;
}

template <int kTokens, int kStages>
size_t few_rows_bytes(int64_t rows, int64_t k) {
  const int64_t pitch = (k + 63) / 64 * 64 + kInputPad;
  return static_cast<size_t>(FewRowsMemory<kTokens, kStages>::kInputAt + rows * pitch * 2);
}

}  // namespace wick::cuda
