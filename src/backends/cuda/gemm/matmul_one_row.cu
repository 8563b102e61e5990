#include "backends/cuda/gemm/input_rows.cuh"
#include "backends/cuda/gemm/matmul_plan.h"
#include "backends/cuda/gemm/mma.cuh"
#include "backends/cuda/gemm/weight_tiles.cuh"
#include "backends/cuda/runtime/dependent_launch.cuh"
#include "backends/cuda/runtime/launch.cuh"

// One row of x against all weights: decoding one token. Such a kernel takes a few microseconds, most of them waiting
// for something, so everything that does not need x is done before x is there: addresses, and as many weights as shared
// memory holds. Each warp takes one part of k and streams its weights through shared memory with its own copies, from
// tile to tile without a break, kGroup tiles side by side.
//
// With experts a block of the grid's second dimension has one row of x and the weights of the expert that was chosen
// for it, or, mixing them, a row of x for each of a token's experts.
namespace wick::cuda {
namespace {

constexpr int kWarps = kParts;
constexpr int kPad = 8;  // elements between rows of x, so that eight of them lie in different banks
static_assert(kWarps * 32 == kThreads);

// Tiles of kRows (8 or 16) rows of weights, in pieces of 64 columns; each warp has kSlots pieces of kGroup tiles under
// way.
// kPaced: of the first of them only two tiles' are on their way at a time. They are early anyway, and what the kernels
// before this one read, their instructions included, would wait behind all of them.
template <int kRowsOf, int kGroupOf, int kSlotsOf, bool kPacedOf>
struct OneRow {
  static constexpr int kRows = kRowsOf, kGroup = kGroupOf, kSlots = kSlotsOf;
  static constexpr bool kPaced = kPacedOf, kAlone = kGroup == 1;
  static constexpr int kBatch = kGroup == 3 ? 3 : 4;  // tiles whose parts are added up together
  static constexpr int kPieceBytes = kRows * 128, kSlotBytes = kGroup * kPieceBytes;
  static constexpr int kRingBytes = kWarps * kSlots * kSlotBytes;
  static constexpr int kPartialFloats = kBatch * kWarps * kRows;  // [kBatch, kWarps, kRows]
  static constexpr int kInputAt = kRingBytes + 2 * kPartialFloats * 4;
};

// One matrix or a few for all; the chosen expert's for each row of out; all of a token's experts for one row of it.
enum class Use { kOne, kChosen, kMixed };
struct NoExperts {};
template <Use kUse>
using Experts = std::conditional_t<kUse == Use::kOne, NoExperts, ExpertTable>;

// What a block does one after the other: its tiles, each with all experts that are mixed.
struct Items {
  int count, each, block, blocks;

  __device__ __forceinline__ int tile(int item) const { return block + (each == 1 ? item : item / each) * blocks; }
  __device__ __forceinline__ int expert(int item) const { return each == 1 ? 0 : item % each; }
};

// The columns of x that a warp multiplies.
struct Part {
  int begin, end, pieces;

  __device__ __forceinline__ explicit Part(int k) {
    const int size = static_cast<int>(part_size(k));
    begin = min(k, static_cast<int>(threadIdx.x / 32) * size);
    end = min(k, begin + size);
    pieces = (end - begin + 63) / 64;
  }
};

// A warp's copies of weights, piece after piece of a group of tiles.
template <typename T, Use kUse, typename Shape>
class WeightCopies {
  static constexpr int kRows = Shape::kRows, kGroup = Shape::kGroup, kCopies = kRows / 4;

 public:
  __device__ __forceinline__ WeightCopies(const WeightPlan& plan, const Experts<kUse>& experts, const Items& items,
                                          const Part& part, uint32_t ring)
      : plan_(plan), experts_(experts), items_(items), part_(part) {
    // This lane copies 16 bytes of rows r, r + 4 and so on at column chunk c of 8 elements, chunks turned by the row so
    // that load_matrices meets each bank once.
    const int r = threadIdx.x % 32 / 8, c = threadIdx.x % 8;
    even_place_ = ring + static_cast<uint32_t>(r * 128 + (c ^ r) * 16);
    odd_place_ = ring + static_cast<uint32_t>((r + 4) * 128 + (c ^ (r + 4)) * 16);
  }
  // Chosen: the expert of all tiles; mixed: where the ids of a token's experts begin.
  __device__ __forceinline__ void choose(int expert_or_ids) { expert_or_ids_ = expert_or_ids; }

  template <bool kPaced = false>
  __device__ __forceinline__ void start_next() {
    if (item_ < items_.count && part_.pieces > 0) {
      if (piece_ == 0) find_rows();
      const int c = threadIdx.x % 8;
      const bool inside = part_.begin + piece_ * 64 + c * 8 < part_.end;
      const auto slot = static_cast<uint32_t>(slot_ * Shape::kSlotBytes);
      const int64_t step = 4 * plan_.ld;
#pragma unroll
      for (int q = 0; q < kGroup; ++q) {
        if (q > 0 && item_ + q >= items_.count) break;
#pragma unroll
        for (int i = 0; i < kCopies; ++i) {
          const T* from = i < kCopies / 2 ? low_[q] + i * step : high_[q] + (i - kCopies / 2) * step;
          const uint32_t to = (i % 2 ? odd_place_ : even_place_) + slot + q * Shape::kPieceBytes + i / 2 * 1024;
          const bool valid = inside && (exists_ >> (q * kCopies + i) & 1);
          if constexpr (kUse == Use::kOne) {
            copy_async(to, from + piece_ * 64, valid);
          } else {
            copy_once_async(to, from + piece_ * 64, valid);
          }
        }
        if constexpr (kPaced) {
          commit_copies();
          wait_copies<1>();
        }
      }
      if (++piece_ == part_.pieces) {
        piece_ = 0;
        item_ += kGroup;
      }
      if (++slot_ == Shape::kSlots) slot_ = 0;
    }
    commit_copies();
  }

 private:
  // The second half of a tile's rows is up's if gated.
  __device__ __forceinline__ void find_rows() {
    const int r = threadIdx.x % 32 / 8, column = part_.begin + static_cast<int>(threadIdx.x % 8) * 8;
    exists_ = 0;
#pragma unroll
    for (int q = 0; q < kGroup; ++q) {
      if (q > 0 && item_ + q >= items_.count) break;
      const TilePlace place = place_of_tile<kRows>(plan_, items_.tile(item_ + q));
      const int n = static_cast<int>(plan_.jobs[place.job].n), second = plan_.gated ? 0 : kRows / 2;
      const auto* weights = static_cast<const T*>(plan_.jobs[place.job].weights);
      const auto* others = plan_.gated ? static_cast<const T*>(plan_.jobs[1].weights) : weights;
      if constexpr (kUse != Use::kOne) {
        int expert = expert_or_ids_;
        if constexpr (kUse == Use::kMixed) expert = experts_.ids[expert_or_ids_ + items_.expert(item_ + q)];
        weights = static_cast<const T*>(experts_.first[expert]);
        others = plan_.gated ? static_cast<const T*>(experts_.second[expert]) : weights;
      }
      low_[q] = weights + (place.first_row + r) * plan_.ld + column;
      high_[q] = others + (place.first_row + r + second) * plan_.ld + column;
#pragma unroll
      for (int i = 0; i < kCopies; ++i) {
        const int row = place.first_row + r + (i < kCopies / 2 ? i * 4 : second + (i - kCopies / 2) * 4);
        exists_ |= static_cast<uint32_t>(row < n) << (q * kCopies + i);
      }
    }
  }

  const WeightPlan& plan_;
  const Experts<kUse>& experts_;
  const Items& items_;
  const Part& part_;
  uint32_t even_place_, odd_place_, exists_ = 0;
  const T *low_[kGroup] = {}, *high_[kGroup] = {};
  int item_ = 0, piece_ = 0, slot_ = 0, expert_or_ids_ = 0;
};

// sum[q] += a piece of tile q's rows times 64 elements of x[q].
template <typename T, int kRows, int kGroup>
__device__ __forceinline__ void multiply_piece(uint32_t slot, const uint32_t* const (&x)[kGroup], bool same_x,
                                               float (&sum)[kGroup][4]) {
  const auto lane = static_cast<int>(threadIdx.x % 32);
  const uint32_t row = slot + static_cast<uint32_t>(lane % kRows * 128);
  uint32_t columns[kGroup][8], w[kGroup][kRows / 4][4];
#pragma unroll
  for (int q = 0; q < kGroup; ++q) {
#pragma unroll
    for (int i = 0; i < kRows / 4;
         ++i) {  // of 16 rows two matrices below each other, then 8 columns on; of 8 rows four
      const int chunk = kRows == 16 ? i * 2 + lane / 16 : i * 4 + lane / 8;
      load_matrices(w[q][i], row + static_cast<uint32_t>(q * kRows * 128 + (chunk ^ lane % 8) * 16));
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) columns[q][i] = q > 0 && same_x ? columns[0][i] : x[q][i * 4];
  }
#pragma unroll
  for (int step = 0; step < 4; ++step) {
#pragma unroll
    for (int q = 0; q < kGroup; ++q) {
      const uint32_t low = columns[q][2 * step], high = columns[q][2 * step + 1];
      if constexpr (kRows == 16) {
        mma<T>(sum[q], w[q][step], low, high);
      } else {
        mma<T>(sum[q], {low, 0, high, 0}, w[q][step / 2][step % 2 * 2], w[q][step / 2][step % 2 * 2 + 1]);
      }
    }
  }
}

// A warp's sums of one tile to partial [kRows].
template <int kRows>
__device__ __forceinline__ void put_sums(const float (&sum)[4], float* partial) {
  const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  if (kRows == 16 && t == 0) {
    partial[g] = sum[0];
    partial[g + 8] = sum[2];
  }
  if (kRows == 8 && g == 0) *reinterpret_cast<float2*>(partial + 2 * t) = {sum[0], sum[1]};
}

// What the parts of a tile add up to, for one row.
template <int kRows>
__device__ __forceinline__ float add_parts(const float* partial, int tile, int row) {
  float total = 0;
#pragma unroll
  for (int i = 0; i < kWarps; ++i) total += partial[(tile * kWarps + i) * kRows + row];
  return total;
}

// Adds up the parts of a batch of tiles, a thread for each row of weights; all threads of the block.
template <typename T, typename Shape>
class Finish {
  static constexpr int kRows = Shape::kRows, kBatch = Shape::kBatch;

 public:
  // Where the sums go; token: the row of out.
  __device__ __forceinline__ void prepare(const WeightPlan& plan, const Items& items, int first, int token) {
    static_assert(kBatch * kRows <= kThreads);
    const int which = threadIdx.x / kRows, in_tile = threadIdx.x % kRows;
    mine_ = which < kBatch && first + which < items.count && (!plan.gated || in_tile < kRows / 2);
    if (!mine_) return;
    const TilePlace place = place_of_tile<kRows>(plan, items.tile(first + which));
    const WeightJob& job = plan.jobs[place.job];
    const int row = place.first_row + in_tile;
    mine_ = row < job.n;
    if (!mine_) return;
    at_ = token * job.n + row;
    out_ = job.out;
    residual_at_ = job.residual;
    bias_ = job.bias ? job.bias[row] : 0;
    up_bias_ = plan.gated && plan.jobs[1].bias ? plan.jobs[1].bias[row] : 0;
  }
  __device__ __forceinline__ void fetch() { residual_ = mine_ && residual_at_ ? residual_at_[at_] : 0; }
  __device__ __forceinline__ void end(const WeightPlan& plan, const float* partial) const {
    __syncthreads();
    if (!mine_) return;
    const int which = threadIdx.x / kRows, in_tile = threadIdx.x % kRows;
    float sum = add_parts<kRows>(partial, which, in_tile) + bias_;
    if (plan.gated) sum = gated(sum, add_parts<kRows>(partial, which, in_tile + kRows / 2) + up_bias_);
    if (residual_at_) sum += residual_;
    store_as<T>(plan.out_dtype, out_, at_, sum);
  }

 private:
  bool mine_ = false;
  void* out_ = nullptr;
  const float* residual_at_ = nullptr;
  int64_t at_ = 0;
  float bias_ = 0, up_bias_ = 0, residual_ = 0;
};

// The outputs of one token's experts times their routing weights, added up by the first lanes, some at a time.
template <typename T, int kRows>
struct MixedTile {
  float sum = 0;

  __device__ __forceinline__ void add(const WeightPlan& plan, const ExpertTable& experts, const Items& items, int token,
                                      const float* partial, int first, int count) {
    __syncthreads();
    if (threadIdx.x >= kRows) return;
    const WeightJob& job = plan.jobs[0];
    const auto in_tile = static_cast<int>(threadIdx.x);
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
      const int expert = items.expert(first + i);
      const float routing_weight = experts.routing_weights[token * experts.chosen + expert];
      sum = __fadd_rn(sum, __fmul_rn(add_parts<kRows>(partial, i, in_tile), routing_weight));
      if (expert + 1 < items.each) continue;
      const int row = items.tile(first + i) * kRows + in_tile;
      if (row < job.n) {
        const int64_t at = token * job.n + row;
        store_as<T>(plan.out_dtype, job.out, at, job.residual ? sum + job.residual[at] : sum);
      }
      sum = 0;
    }
  }
};

// Rows of x [rows, k] as they are into shared memory, in the weights' dtype [rows, pitch].
template <typename T>
__device__ __forceinline__ void round_plain(const float* x, int rows, int k, int pitch, uint32_t* target) {
  constexpr int kAtOnce = 8;
  const auto* fours = reinterpret_cast<const float4*>(x);
  const int of_row = k / 4, total = rows * of_row;
#pragma unroll 1
  for (int first = static_cast<int>(threadIdx.x); first < total; first += kThreads * kAtOnce) {
    float4 four[kAtOnce];
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j) {
      if (first + j * kThreads < total) four[j] = fours[first + j * kThreads];
    }
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j) {
      const int at = first + j * kThreads;
      if (at >= total) break;
      const int row = rows == 1 ? 0 : at / of_row, column = (at - row * of_row) * 4;
      *reinterpret_cast<uint2*>(target + (row * pitch + column) / 2) = {round_pair<T>(four[j].x, four[j].y),
                                                                        round_pair<T>(four[j].z, four[j].w)};
    }
  }
}

template <typename T, Use kUse, typename Shape>
__global__ void __launch_bounds__(kThreads, 2)
    one_row_kernel(const __grid_constant__ WeightPlan plan, const __grid_constant__ Experts<kUse> experts, int tiles) {
  constexpr int kRows = Shape::kRows, kGroup = Shape::kGroup, kSlots = Shape::kSlots, kBatch = Shape::kBatch;
  constexpr bool kMixes = kUse == Use::kMixed;
  extern __shared__ __align__(128) char memory[];
  __shared__ InputRow<float, false, false>::Shared reduced;
  const auto warp = static_cast<int>(threadIdx.x / 32), k = static_cast<int>(plan.k);
  const Part part(k);
  int token = 0, first_row = 0, rows = 1;
  if constexpr (kUse != Use::kOne) {
    token = static_cast<int>(blockIdx.y);
    first_row = kMixes ? token * experts.chosen : token / experts.chosen;
    if (kMixes) rows = experts.chosen;
  }
  const int blocks = static_cast<int>(gridDim.x), block = static_cast<int>(blockIdx.x);
  const Items items{(tiles - block + blocks - 1) / blocks * rows, rows, block, blocks};
  const uint32_t ring = shared_address(memory) + static_cast<uint32_t>(warp * kSlots * Shape::kSlotBytes);
  WeightCopies<T, kUse, Shape> copies(plan, experts, items, part, ring);
  const auto start_copies = [&] {
#pragma unroll 1
    for (int i = 0; i < kSlots; ++i) copies.template start_next<Shape::kPaced && kUse == Use::kOne>();
  };
  if (kUse != Use::kChosen) {
    if (!plan.steady) wait_for_prerequisites();
    launch_dependents();
    if (kMixes) copies.choose(first_row);
    start_copies();
  }
  const InputRow<float, false, false>::Norm norm(plan);
  auto* x = reinterpret_cast<uint32_t*>(memory + Shape::kInputAt);
  const int pitch = (k + 63) / 64 * 64 + kPad;
#pragma unroll 1
  for (int row = 0; row < rows; ++row) {
#pragma unroll 1
    for (int i = k + static_cast<int>(threadIdx.x) * 2; i < pitch - kPad; i += kThreads * 2)
      x[(row * pitch + i) / 2] = 0;
  }
  Finish<T, Shape> finish;
  if (!kMixes) finish.prepare(plan, items, 0, token);
  if (kUse == Use::kChosen || plan.steady) wait_for_prerequisites();
  if constexpr (kUse == Use::kChosen) {
    launch_dependents();  // not before: the next kernel reads the ids, too, without waiting for this one
    copies.choose(experts.ids[token]);
  }
  finish.fetch();
  const auto start_chosen = [&] {
    if (kUse == Use::kChosen) start_copies();
  };
  if (plan.norm_weight) {
    const InputRow<float, false, false> row(plan, first_row, reduced, norm, start_chosen);
    row.each([&](int64_t i, float4 four) {
      *reinterpret_cast<uint2*>(x + static_cast<int>(i) / 2) = {round_pair<T>(four.x, four.y),
                                                                round_pair<T>(four.z, four.w)};
    });
  } else {
    start_chosen();
    round_plain<T>(static_cast<const float*>(plan.x) + int64_t{first_row} * k, rows, k, pitch, x);
  }
  __syncthreads();

  const uint32_t* x_part = x + part.begin / 2 + threadIdx.x % 4;
  MixedTile<T, kRows> mixed;
  int slot = 0;
#pragma unroll 1
  for (int first = 0; first < items.count; first += kGroup) {
    float sum[kGroup][4] = {};
    const uint32_t* x_at[kGroup];
#pragma unroll
    for (int q = 0; q < kGroup; ++q) x_at[q] = x_part + (kMixes ? items.expert(first + q) * pitch / 2 : 0);
#pragma unroll 1
    for (int piece = 0; piece < part.pieces; ++piece) {
      wait_copies<kSlots - 1>();
      __syncwarp();
      const uint32_t place = ring + static_cast<uint32_t>(slot * Shape::kSlotBytes);
      if (++slot == kSlots) slot = 0;
      multiply_piece<T, kRows, kGroup>(place, x_at, !kMixes, sum);  // of a tile too many, to no purpose
      __syncwarp();
      copies.start_next();
#pragma unroll
      for (int q = 0; q < kGroup; ++q) x_at[q] += 32;
    }
    // Two buffers by turns: who still reads the one is behind the barrier that the other's writers wait at.
    auto* partial = reinterpret_cast<float*>(memory + Shape::kRingBytes) + first / kBatch % 2 * Shape::kPartialFloats;
#pragma unroll
    for (int q = 0; q < kGroup; ++q) {
      put_sums<kRows>(sum[q], partial + ((first + q) % kBatch * kWarps + warp) * kRows);
    }
    const int next = first + kGroup;
    if (next % kBatch != 0 && next < items.count) continue;
    const int batch = first / kBatch * kBatch;
    if constexpr (kMixes) {
      mixed.add(plan, experts, items, token, partial, batch, min(next, items.count) - batch);
    } else {
      finish.end(plan, partial);
      if (next >= items.count) break;
      finish.prepare(plan, items, next, token);
      finish.fetch();
    }
  }
  wait_copies<0>();
}

template <typename Shape>
size_t shared_bytes(int64_t rows, int64_t k) {
  const int64_t pitch = (k + 63) / 64 * 64 + kPad;
  return static_cast<size_t>(Shape::kInputAt + rows * pitch * 2);
}

using Large = OneRow<8, 2, 4, false>;  // for much memory
using Small = OneRow<16, 2, 3, true>;  // for little, which is there soon
using Three = OneRow<16, 3, 2, true>;  // for three tiles a block
using Tiny = OneRow<8, 1, 8, true>;    // for so little that a multiprocessor has one tile at most
constexpr int64_t kMuch = int64_t{16} << 20;

template <typename T, typename Shape>
void launch(Device device, const WeightPlan& plan, int per_processor) {
  const Runtime& use = runtime(device);
  constexpr auto kKernel = one_row_kernel<T, Use::kOne, Shape>;
  allow_shared<kKernel>(device, use.shared_bytes - 1024);
  const int tiles = tiles_of_plan<Shape::kRows>(plan);
  const auto blocks = static_cast<unsigned>(std::min(tiles, use.multiprocessors * per_processor));
  // With more than half of the memory each multiprocessor has one block: with less, those that other kernels fill when
  // this one starts would have none, and some two, which take longer.
  const auto alone = static_cast<size_t>(use.shared_bytes / 2 + 1024);
  const size_t needed = shared_bytes<Shape>(1, plan.k), shared = Shape::kAlone ? std::max(needed, alone) : needed;
  launch_dependent(device, "matmul", kKernel, blocks, kThreads, shared, plan, NoExperts{}, tiles);
}

template <typename T>
void launch(Device device, const WeightPlan& plan) {
  const Runtime& use = runtime(device);
  int64_t bytes = 0;
  for (int i = 0; i < plan.count; ++i) bytes += plan.jobs[i].n * plan.k * 2;
  const auto room = static_cast<size_t>(use.shared_bytes - 1024);
  const bool large = bytes > kMuch || shared_bytes<Small>(1, plan.k) > room;
  const int tiles = tiles_of_plan<Small::kRows>(plan);
  if (!large && tiles >= use.multiprocessors) {
    const bool three = (tiles - 1) / use.multiprocessors == 2;
    return three ? launch<T, Three>(device, plan, 1) : launch<T, Small>(device, plan, 1);
  }
  const bool tiny = !large && tiles_of_plan<Tiny::kRows>(plan) <= use.multiprocessors;
  tiny ? launch<T, Tiny>(device, plan, 1) : launch<T, Large>(device, plan, 2);
}

template <typename T, Use kUse, typename Shape>
void launch_experts(Device device, const WeightPlan& plan, const ExpertTable& experts, dim3 grid, int tiles) {
  constexpr auto kKernel = one_row_kernel<T, kUse, Shape>;
  allow_shared<kKernel>(device, runtime(device).shared_bytes - 1024);
  const int64_t rows = kUse == Use::kMixed ? experts.chosen : 1;
  launch_dependent(device, "experts", kKernel, grid, kThreads, shared_bytes<Shape>(rows, plan.k), plan, experts, tiles);
}

template <typename T>
void launch_experts(Device device, const WeightPlan& plan, const ExpertTable& experts, int64_t tokens) {
  const int64_t rows = experts.routing_weights ? tokens : tokens * experts.chosen;
  const int tiles = tiles_of_plan<Small::kRows>(plan);
  const int64_t room = runtime(device).multiprocessors * 2, blocks = std::min<int64_t>(tiles, (room + rows - 1) / rows);
  const dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>(rows));
  if (experts.routing_weights) return launch_experts<T, Use::kMixed, Small>(device, plan, experts, grid, tiles);
  const bool three = (tiles - 1) / blocks == 2;
  three ? launch_experts<T, Use::kChosen, Three>(device, plan, experts, grid, tiles)
        : launch_experts<T, Use::kChosen, Small>(device, plan, experts, grid, tiles);
}

constexpr size_t kMostShared = 160 * 1024;

}  // namespace

// With little room left, too few blocks share a multiprocessor to keep the memory busy.
bool fits_one_row(const Runtime& use, const WeightPlan& plan, int64_t rows) {
  int64_t most = 0;
  for (int i = 0; i < plan.count; ++i) most = std::max(most, plan.jobs[i].n);
  return plan.m == 1 && !plan.up && plan.x_dtype == DType::kF32 && most < int64_t{1} << 29 && plan.k % 8 == 0 &&
         aligned(plan.x, 16) &&
         shared_bytes<Small>(rows, plan.k) <= std::min(static_cast<size_t>(use.shared_bytes), kMostShared);
}

void multiply_one_row(Device device, const WeightPlan& plan) {
  plan.dtype == DType::kF16 ? launch<__half>(device, plan) : launch<__nv_bfloat16>(device, plan);
}

void multiply_experts(Device device, const WeightPlan& plan, const ExpertTable& experts, int64_t tokens) {
  plan.dtype == DType::kF16 ? launch_experts<__half>(device, plan, experts, tokens)
                            : launch_experts<__nv_bfloat16>(device, plan, experts, tokens);
}

}  // namespace wick::cuda
