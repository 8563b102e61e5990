#include "backends/cuda/gemm/input_rows.cuh"
#include "backends/cuda/gemm/matmul_plan.h"
#include "backends/cuda/gemm/mma.cuh"
#include "backends/cuda/gemm/weight_tiles.cuh"
#include "backends/cuda/runtime/dependent_launch.cuh"
#include "backends/cuda/runtime/launch.cuh"

namespace wick::cuda {
namespace {

constexpr int kWarps = kParts, kMostTokens = 8, kRows = 16;
constexpr int kStages = 4, kStageBytes = kRows * 128;  // pieces of 64 columns that each warp has under way
constexpr int kBatch = 2;                              // tiles whose parts are added up together
constexpr int kPad = 8;  // elements between rows of x, so that eight of them lie in different banks
constexpr int kRingBytes = kWarps * kStages * kStageBytes;
constexpr int kPartialFloats = kBatch * kWarps * kMostTokens * kRows;  // [kBatch, kWarps, kMostTokens, kRows]
constexpr int kInputAt = kRingBytes + 2 * kPartialFloats * 4;
static_assert(kWarps * 32 == kThreads && kBatch * kMostTokens * kRows == kThreads);

// What the parts of a tile add up to, for one token and row.
__device__ __forceinline__ float add_parts(const float* partial, int tile, int token, int row) {
  float total = 0;
#pragma unroll
  for (int i = 0; i < kWarps; ++i) total += partial[((tile * kWarps + i) * kMostTokens + token) * kRows + row];
  return total;
}

// Adds up the parts of a batch of tiles, a thread for each row of weights and token; all threads of the block.
template <typename T>
class Finish {
 public:
  // What is added to the sums is read ahead.
  __device__ __forceinline__ void start(const WeightPlan& plan, int first_tile, int tiles) {
    const int which = threadIdx.x / (kMostTokens * kRows), token = threadIdx.x / kRows % kMostTokens;
    const int tile = first_tile + which * static_cast<int>(gridDim.x), in_tile = threadIdx.x % kRows;
    mine_ = token < plan.m && tile < tiles && (!plan.gated || in_tile < kRows / 2);
    if (!mine_) return;
    const TilePlace place = place_of_tile<kRows>(plan, tile);
    job_ = &plan.jobs[place.job];
    const int row = place.first_row + in_tile;
    mine_ = row < job_->n;
    if (!mine_) return;
    at_ = token * job_->n + row;
    if (job_->bias) bias_ = job_->bias[row];
    if (plan.gated && plan.jobs[1].bias) up_bias_ = plan.jobs[1].bias[row];
    if (job_->residual) residual_ = job_->residual[at_];
  }
  __device__ __forceinline__ void end(const WeightPlan& plan, const float* partial, int count) const {
    __syncthreads();
    const int which = threadIdx.x / (kMostTokens * kRows), token = threadIdx.x / kRows % kMostTokens;
    if (!mine_ || which >= count) return;
    const int in_tile = threadIdx.x % kRows;
    float sum = add_parts(partial, which, token, in_tile);
    if (job_->bias) sum += bias_;
    if (plan.gated) {
      float up = add_parts(partial, which, token, in_tile + kRows / 2);
      if (plan.jobs[1].bias) up += up_bias_;
      sum = gated(sum, up);
    }
    if (job_->residual) sum += residual_;
    store_as<T>(plan.out_dtype, job_->out, at_, sum);
  }

 private:
  bool mine_ = false;
  const WeightJob* job_ = nullptr;
  int64_t at_ = 0;
  float bias_ = 0, up_bias_ = 0, residual_ = 0;
};

// Up to kMostTokens rows of x against all weights, a tile's rows of those at a time. Each warp takes one part of k and
// streams its weights through shared memory with its own copies, from tile to tile without a break; they are on their
// way before x is read.
template <typename T, typename X>
__global__ void __launch_bounds__(kThreads, 2) few_rows_kernel(const __grid_constant__ WeightPlan plan, int tiles) {
  extern __shared__ __align__(128) char memory[];
  __shared__ typename InputRow<X, false>::Shared reduced;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const auto k = static_cast<int>(plan.k);
  const int part = static_cast<int>(part_size(k)), begin = min(k, warp * part), end = min(k, begin + part);
  const int stages = (end - begin + 63) / 64;
  const auto rows = static_cast<int>(plan.m);
  const int blocks = static_cast<int>(gridDim.x), block = static_cast<int>(blockIdx.x);
  const int items = (tiles - block + blocks - 1) / blocks;  // tiles of this block

  // This lane copies 16 bytes of rows r, r + 4 and so on at column chunk c of 8 elements, chunks turned by the row so
  // that load_matrices meets each bank once. The second half of a tile's rows is up's if gated.
  const int r = lane / 8, c = lane % 8;
  const uint32_t ring = shared_address(memory) + static_cast<uint32_t>(warp * kStages * kStageBytes);
  const uint32_t even_place = ring + static_cast<uint32_t>(r * 128 + (c ^ r) * 16);
  const uint32_t odd_place = ring + static_cast<uint32_t>((r + 4) * 128 + (c ^ (r + 4)) * 16);
  constexpr int kCopies = kRows / 4;
  const T* from[kCopies] = {};
  int next_tile = block, next_stage = 0, next_slot = 0;
  const auto start_next = [&] {
    if (stages > 0 && next_tile < tiles) {
      if (next_stage == 0) {
        const TilePlace place = place_of_tile<kRows>(plan, next_tile);
        const int last = static_cast<int>(plan.jobs[place.job].n) - 1;
        const auto* weights = static_cast<const T*>(plan.jobs[place.job].weights);
        const auto* others = plan.gated ? static_cast<const T*>(plan.jobs[1].weights) : weights;
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
        next_tile += blocks;
      }
      if (++next_slot == kStages) next_slot = 0;
    }
    commit_copies();
  };
  if (!plan.steady) wait_for_prerequisites();
  launch_dependents();
  fetch_norm(plan);
  for (int i = 0; i < kStages - 1; ++i) start_next();
  if (plan.steady) wait_for_prerequisites();

  Finish<T> finish;
  finish.start(plan, block, tiles);
  // x in the weights' dtype, [rows, pitch].
  auto* x = reinterpret_cast<uint32_t*>(memory + kInputAt);
  const int pitch = (k + 63) / 64 * 64 + kPad;
  for (int at = 0; at < rows; ++at) {
    const InputRow<X, false> row(plan, at, reduced);
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
  const uint32_t* x_row = x + (g < rows ? g : 0) * pitch / 2 + t;  // columns beyond m go nowhere
  const uint32_t matrix_row = static_cast<uint32_t>(lane % kRows * 128);
  int slot = 0;
  for (int item = 0; item < items; ++item) {
    float sum[4] = {};
    const uint32_t* x_at = x_row + begin / 2;
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
    auto* partial = reinterpret_cast<float*>(memory + kRingBytes) + item / kBatch % 2 * kPartialFloats;
    float* mine = partial + (item % kBatch * kWarps + warp) * kMostTokens * kRows + g;
#pragma unroll
    for (int e = 0; e < 4; ++e) mine[(2 * t + e % 2) * kRows + e / 2 * 8] = sum[e];
    if (item % kBatch != kBatch - 1 && item + 1 < items) continue;
    finish.end(plan, partial, item % kBatch + 1);
    finish.start(plan, block + (item + 1) * blocks, tiles);
  }
  wait_copies<0>();
}

size_t shared_bytes(int64_t rows, int64_t k) {
  const int64_t pitch = (k + 63) / 64 * 64 + kPad;
  return static_cast<size_t>(kInputAt + rows * pitch * 2);
}

template <typename T, typename X>
void launch(Device device, const WeightPlan& plan) {
  const Runtime& use = runtime(device);
  constexpr auto kKernel = few_rows_kernel<T, X>;
  allow_shared<kKernel>(device, use.shared_bytes - 1024);
  const int tiles = tiles_of_plan<kRows>(plan);
  const auto blocks = static_cast<unsigned>(std::min(tiles, use.multiprocessors * 2));
  launch_dependent(device, "matmul", kKernel, blocks, kThreads, shared_bytes(plan.m, plan.k), plan, tiles);
}

constexpr size_t kMostShared = 160 * 1024;

}  // namespace

// With little room left, too few blocks share a multiprocessor to keep the memory busy.
bool fits_few_rows(const Runtime& use, const WeightPlan& plan) {
  int64_t most = 0;
  for (int i = 0; i < plan.count; ++i) most = std::max(most, plan.jobs[i].n);
  return most < int64_t{1} << 29 && plan.m <= kMostTokens && plan.k % 8 == 0 && aligned(plan.x, 16) &&
         shared_bytes(plan.m, plan.k) <= std::min(static_cast<size_t>(use.shared_bytes), kMostShared);
}

void multiply_few_rows(Device device, const WeightPlan& plan) {
  const bool half = plan.dtype == DType::kF16;
  if (plan.x_dtype == DType::kF32) {
    half ? launch<__half, float>(device, plan) : launch<__nv_bfloat16, float>(device, plan);
  } else {
    half ? launch<__half, __half>(device, plan) : launch<__nv_bfloat16, __nv_bfloat16>(device, plan);
  }
}

}  // namespace wick::cuda
