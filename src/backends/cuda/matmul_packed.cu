#include "backends/cuda/dependent_launch.cuh"
#include "backends/cuda/dequantize.h"
#include "backends/cuda/input_rows.cuh"
#include "backends/cuda/kernels.h"
#include "backends/cuda/launch.cuh"
#include "backends/cuda/matmul_plan.h"
#include "backends/cuda/mma.cuh"
#include "backends/cuda/packed_pairs.cuh"

// Products with packed weights are products with the f16 numbers that Pairs makes of them, and activations in f16.
// Each row of x is first multiplied by a power of two that brings its largest magnitude to 2^11 or below, so that f16
// holds it whatever its range; the result is multiplied back.
namespace wick::cuda {
namespace {

constexpr int kWarps = kParts, kRows = 16, kMostTokens = 8, kSuper = 256;  // weights of a row in a stage
constexpr int kPad = 8, kPartialFloats = kWarps * kRows * kMostTokens;
constexpr int kTopExponent = 11;

// 2^e with largest * 2^e in [2^10, 2^11); 1 for zeros and for what is not finite.
__device__ __forceinline__ float row_factor(float largest) {
  if (!(largest > 0) || largest > 3.0e38f) return 1;
  const int exponent = ilogbf(largest);
  return exp2f(static_cast<float>(min(max(kTopExponent - 1 - exponent, -126), 126)));
}

template <typename Block>
struct Stage {
  static constexpr int kBlock = Pairs<Block>::kKnown ? (sizeof(Block) > 100 ? 256 : 32) : 32;  // weights of a block
  static constexpr int kBytes = kSuper / kBlock * static_cast<int>(sizeof(Block));
  static constexpr int kPitch = (kBytes + 15 + 15) / 16 * 16;  // of a row: it starts anywhere within 16 bytes
  static constexpr int kGroups = kSuper / Pairs<Block>::kGroup;
  static constexpr int kTotal = kRows * kPitch + kRows * kGroups * 4;  // bytes, then scales
  static constexpr int kStages = 2;  // more warps to a multiprocessor hide more than more stages would
};

template <typename X>
__device__ __forceinline__ void store_product(const WeightJob& job, int64_t token, int64_t row, float product) {
  const int64_t at = token * job.n + row;
  if (job.bias) product += job.bias[row];
  if (job.residual) product += job.residual[at];
  static_cast<X*>(job.out)[at] = to<X>(product);
}

struct TilePlace {
  int job;
  int64_t first_row;
};
__device__ __forceinline__ TilePlace place_of(const WeightPlan& plan, int64_t tile) {
  int job = 0;
  for (; job + 1 < plan.count; ++job) {
    const int64_t tiles = (plan.jobs[job].n + kRows - 1) / kRows;
    if (tile < tiles) break;
    tile -= tiles;
  }
  return {job, tile * kRows};
}

// Up to 8 rows of x against all weights, 16 rows of those at a time; each warp takes one part of k, from tile to tile,
// as in few_rows_kernel. A stage holds 256 weights of each row and their scales.
template <typename Block, typename X>
__global__ void __launch_bounds__(kThreads, 2) packed_kernel(const __grid_constant__ WeightPlan plan, int64_t tiles) {
  using Format = Pairs<Block>;
  using S = Stage<Block>;
  extern __shared__ __align__(128) char memory[];
  __shared__ float reduced[32], factors[kMostTokens];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const auto k = static_cast<int>(plan.k), m = static_cast<int>(plan.m);
  const int part = static_cast<int>(part_size(k)), begin = min(k, warp * part), end = min(k, begin + part);
  const int first_super = begin / kSuper, supers = end > begin ? (end + kSuper - 1) / kSuper - first_super : 0;
  const int my_tiles = static_cast<int>((tiles - blockIdx.x + gridDim.x - 1) / gridDim.x);

  char* ring = memory + warp * S::kStages * S::kTotal;
  const uint32_t ring_address = shared_address(ring);
  // Chunks of 16 bytes at their own alignment: up to 15 bytes before and behind a row's blocks come along, all within
  // the matrix's memory.
  const auto row_of = [&](const TilePlace& place, int row) {
    const WeightJob& job = plan.jobs[place.job];
    return static_cast<const uint8_t*>(job.weights) + min(place.first_row + row, job.n - 1) * plan.ld;
  };
  constexpr int kChunks = S::kPitch / 16, kCopies = (kRows * kChunks + 31) / 32;
  TilePlace next_place{};
  int next_tile = 0, next_stage = 0, next_slot = 0;
  const auto start_next = [&] {
    if (next_tile < my_tiles && supers > 0) {
      if (next_stage == 0) next_place = place_of(plan, blockIdx.x + int64_t{next_tile} * gridDim.x);
      const int offset = (first_super + next_stage) * S::kBytes;
      const int bytes = min(S::kBytes, static_cast<int>(plan.ld) - offset);
      const uint32_t place = ring_address + static_cast<uint32_t>(next_slot * S::kTotal);
#pragma unroll
      for (int copy = 0; copy < kCopies; ++copy) {
        const int i = lane + copy * 32, row = i / kChunks, chunk = i % kChunks;
        if (row >= kRows) break;
        const auto address = reinterpret_cast<uintptr_t>(row_of(next_place, row) + offset);
        const uintptr_t from = (address & ~uintptr_t{15}) + static_cast<uintptr_t>(chunk) * 16;
        if (from < address + static_cast<uintptr_t>(bytes)) {
          copy_async(place + static_cast<uint32_t>(row * S::kPitch + chunk * 16), reinterpret_cast<const void*>(from));
        }
      }
      if (++next_stage == supers) {
        next_stage = 0;
        ++next_tile;
      }
      if (++next_slot == S::kStages) next_slot = 0;
    }
    commit_copies();
  };
  let_next_start();
  if (!plan.steady) wait_for_previous();
  for (int i = 0; i < S::kStages - 1; ++i) start_next();
  if (plan.steady) wait_for_previous();

  auto* partials = reinterpret_cast<float*>(memory + kWarps * S::kStages * S::kTotal);
  auto* x = reinterpret_cast<uint32_t*>(partials + 2 * kPartialFloats);
  const int pitch = (k + 63) / 64 * 64 + kPad;
  for (int token = 0; token < m; ++token) {
    const InputRow<X> row(plan, token, reduced);
    float most = 0;
    for (int i = threadIdx.x * 4; i < k; i += kThreads * 4) {
      const float4 four = row.four(i);
      most = fmaxf(fmaxf(fmaxf(fabsf(four.x), fabsf(four.y)), fmaxf(fabsf(four.z), fabsf(four.w))), most);
    }
    most = block_combine(most, reduced, 0.0f, [](float a, float b) { return fmaxf(a, b); });
    const float factor = row_factor(most);
    if (threadIdx.x == 0) factors[token] = 1 / factor;
    for (int i = threadIdx.x * 4; i < pitch - kPad; i += kThreads * 4) {
      const float4 four = i < k ? row.four(i) : float4{0, 0, 0, 0};
      x[(token * pitch + i) / 2] = round_pair<__half>(four.x * factor, four.y * factor);
      x[(token * pitch + i) / 2 + 1] = round_pair<__half>(four.z * factor, four.w * factor);
    }
  }
  __syncthreads();

  const int g = lane / 4, t = lane % 4;
  const uint32_t* x_row = x + (g < m ? g : 0) * pitch / 2 + t;
  int slot = 0;
  for (int tile = 0; tile < my_tiles; ++tile) {
    const TilePlace tile_place = place_of(plan, blockIdx.x + int64_t{tile} * gridDim.x);
    float sum[4] = {};
    for (int stage = 0; stage < supers; ++stage) {
      wait_copies<S::kStages - 2>();
      __syncwarp();
      start_next();
      const int super = first_super + stage;
      char* place = ring + slot * S::kTotal;
      if (++slot == S::kStages) slot = 0;
      auto* scales = reinterpret_cast<__half2*>(place + kRows * S::kPitch);  // [kGroups, kRows]
      const auto row_bytes = [&](int row) {
        const auto shift = reinterpret_cast<uintptr_t>(row_of(tile_place, row) + super * S::kBytes) & 15;
        return reinterpret_cast<const uint8_t*>(place + row * S::kPitch + shift);
      };
      const uint8_t* scaled_row = row_bytes(lane % kRows);
#pragma unroll
      for (int i = 0; i < kRows * S::kGroups / 32; ++i) {
        const int group = i * 2 + lane / kRows;
        constexpr int kPerBlock = S::kBlock / Format::kGroup;
        const uint8_t* block = scaled_row + group / kPerBlock * static_cast<int>(sizeof(Block));
        scales[group * kRows + lane % kRows] = Format::scales(block, group % kPerBlock);
      }
      __syncwarp();
      const uint8_t *upper = row_bytes(g), *lower = row_bytes(g + 8);
#pragma unroll
      for (int chunk = 0; chunk < kSuper / 16; ++chunk) {
        const int column = super * kSuper + chunk * 16;
        if (column < begin || column >= end) continue;
        const int block = chunk * 16 / S::kBlock * static_cast<int>(sizeof(Block)), at = chunk * 16 % S::kBlock;
        const int group = chunk * 16 / Format::kGroup;
        const __half2 s0 = scales[group * kRows + g], s1 = scales[group * kRows + g + 8];
        const uint32_t a[4] = {pack_pair(Format::pair(upper + block, at + 2 * t, s0)),
                               pack_pair(Format::pair(lower + block, at + 2 * t, s1)),
                               pack_pair(Format::pair(upper + block, at + 2 * t + 8, s0)),
                               pack_pair(Format::pair(lower + block, at + 2 * t + 8, s1))};
        uint32_t b0 = 0, b1 = 0;
        if (g < m) {
          b0 = x_row[column / 2];
          b1 = x_row[column / 2 + 4];
        }
        mma<__half>(sum, a, b0, b1);
      }
    }
    float* partial = partials + tile % 2 * kPartialFloats;  // [kWarps, kRows, kMostTokens]
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      partial[(warp * kRows + g + e / 2 * 8) * kMostTokens + 2 * t + e % 2] = sum[e];
    }
    __syncthreads();
    const int token = threadIdx.x / kRows, row = threadIdx.x % kRows;
    const WeightJob& job = plan.jobs[tile_place.job];
    const int64_t out_row = tile_place.first_row + row;
    if (token >= m || out_row >= job.n) continue;
    float total = 0;
#pragma unroll
    for (int i = 0; i < kWarps; ++i) total += partial[(i * kRows + row) * kMostTokens + token];
    store_product<X>(job, token, out_row, __fmul_rn(total, factors[token]));
  }
  wait_copies<0>();
}

template <typename Block>
size_t shared_bytes(int64_t m, int64_t k) {
  return static_cast<size_t>(kWarps * Stage<Block>::kStages * Stage<Block>::kTotal + 2 * kPartialFloats * 4 +
                             m * ((k + 63) / 64 * 64 + kPad) * 2);
}

// The plan for rows `first` to `first + count` of x.
template <typename X>
WeightPlan rows_of(const WeightPlan& plan, int64_t first, int64_t count) {
  WeightPlan part = plan;
  part.m = count;
  part.x = static_cast<const X*>(plan.x) + first * plan.k;
  if (plan.up) part.up = plan.up + first * plan.k;
  for (int i = 0; i < plan.count; ++i) {
    WeightJob& job = part.jobs[i];
    job.out = static_cast<X*>(job.out) + first * job.n;
    if (job.residual) job.residual += first * job.n;
  }
  return part;
}

template <typename Block, typename X>
void launch_packed(Device device, const WeightPlan& plan) {
  const Runtime& use = runtime(device);
  const int most_shared = use.shared_bytes - 1024;
  allow_shared<packed_kernel<Block, X>>(device, most_shared);
  int64_t step = kMostTokens, tiles = 0;
  while (step > 1 && shared_bytes<Block>(step, plan.k) > static_cast<size_t>(most_shared)) step /= 2;
  for (int i = 0; i < plan.count; ++i) tiles += (plan.jobs[i].n + kRows - 1) / kRows;
  const auto room = static_cast<int64_t>(use.shared_bytes) /
                    static_cast<int64_t>(shared_bytes<Block>(std::min(step, plan.m), plan.k) + 1024);
  const auto blocks =
      static_cast<unsigned>(std::min<int64_t>(tiles, use.multiprocessors * std::clamp<int64_t>(room, 1, 3)));
  for (int64_t row = 0; row < plan.m; row += step) {
    const WeightPlan part = rows_of<X>(plan, row, std::min(step, plan.m - row));
    launch_dependent(device, "matmul", packed_kernel<Block, X>, blocks, kThreads, shared_bytes<Block>(part.m, plan.k),
                     part, tiles);
  }
}

// Rows of x scaled into f16, and 1 / factor of each.
template <typename X>
__global__ void __launch_bounds__(kThreads)
    scale_rows_kernel(const __grid_constant__ WeightPlan plan, int64_t ld, __half* out, float* inverses) {
  __shared__ float reduced[32];
  const int64_t k = plan.k, at = blockIdx.x;
  const bool fours = k % 4 == 0;
  const InputRow<X> row(plan, at, reduced);
  const X* plain = static_cast<const X*>(plan.x) + at * k;
  const auto four_from = [&](int64_t i) {  // zeros behind k
    if (fours) return i < k ? row.four(i) : float4{0, 0, 0, 0};
    const auto one = [&](int64_t j) { return j < k ? static_cast<float>(widen(plain[j])) : 0.0f; };
    return float4{one(i), one(i + 1), one(i + 2), one(i + 3)};
  };
  float most = 0;
  for (int64_t i = threadIdx.x * 4; i < k; i += kThreads * 4) {
    const float4 four = four_from(i);
    most = fmaxf(fmaxf(fmaxf(fabsf(four.x), fabsf(four.y)), fmaxf(fabsf(four.z), fabsf(four.w))), most);
  }
  most = block_combine(most, reduced, 0.0f, [](float a, float b) { return fmaxf(a, b); });
  const float factor = row_factor(most);
  if (threadIdx.x == 0) inverses[at] = 1 / factor;
  auto* target = reinterpret_cast<uint2*>(out + at * ld);
  for (int64_t i = threadIdx.x * 4; i < ld; i += kThreads * 4) {
    const float4 four = four_from(i);
    target[i / 4] = {round_pair<__half>(four.x * factor, four.y * factor),
                     round_pair<__half>(four.z * factor, four.w * factor)};
  }
}

template <typename X>
__global__ void __launch_bounds__(kThreads)
    scale_back_kernel(const __grid_constant__ WeightJob job, int64_t m, const float* sums, const float* factors) {
  const int64_t column = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (column >= job.n) return;
  for (int64_t row = blockIdx.y; row < m; row += gridDim.y) {
    store_product<X>(job, row, column, __fmul_rn(sums[row * job.n + column], factors[row]));
  }
}

// Many rows, and formats without a kernel of their own: the weights in f16 once for all rows.
template <typename X>
void multiply_unpacked(Device device, const WeightPlan& plan) {
  const Runtime& use = runtime(device);
  const int64_t m = plan.m, k = plan.k, ld = (k + 7) / 8 * 8;
  const Scratch rows(device, static_cast<size_t>(m * ld * 2)), inverses(device, static_cast<size_t>(m) * sizeof(float));
  scale_rows_kernel<X>
      <<<static_cast<unsigned>(m), kThreads, 0, use.stream>>>(plan, ld, rows.as<__half>(), inverses.as<float>());
  check_launch(device, "matmul");
  const auto* factors = inverses.as<const float>();
  for (int i = 0; i < plan.count; ++i) {
    const WeightJob job = plan.jobs[i];
    const Scratch weights(device, static_cast<size_t>(job.n * ld * 2)),
        sums(device, static_cast<size_t>(m * job.n) * sizeof(float));
    dequantize_to_f16(device, plan.dtype, job.weights, job.n, k, plan.ld, ld, weights.as<void>());
    WeightPlan product;
    product.m = m;
    product.k = product.ld = ld;
    product.x = rows.as<void>();
    product.x_dtype = product.dtype = DType::kF16;
    product.jobs[0] = {weights.as<void>(), job.n, sums.as<void>(), nullptr, nullptr};
    multiply_weights(device, product);
    const dim3 grid(blocks_for(job.n), static_cast<unsigned>(std::min<int64_t>(m, 65535)));
    scale_back_kernel<X><<<grid, kThreads, 0, use.stream>>>(job, m, sums.as<const float>(), factors);
    check_launch(device, "matmul");
  }
}

template <typename X>
void run(Device device, const WeightPlan& plan) {
  constexpr int64_t kFewRows = 16;
  const bool few = plan.m <= kFewRows && aligned(plan.x, 4 * sizeof(X));
  bool done = false;
  visit_packed(plan.dtype, [&](auto block) {
    if constexpr (Pairs<decltype(block)>::kKnown) {
      if (few) {
        launch_packed<decltype(block), X>(device, plan);
        done = true;
      }
    }
  });
  if (!done) multiply_unpacked<X>(device, plan);
}

}  // namespace

void multiply_packed(Device device, const WeightPlan& plan) {
  if (plan.x_dtype == DType::kF32) return run<float>(device, plan);
  plan.x_dtype == DType::kF16 ? run<__half>(device, plan) : run<__nv_bfloat16>(device, plan);
}

void matmul_packed(const Tensor& x, const Tensor& w, const Tensor& out) {
  if (out.numel() == 0) return;
  WeightPlan plan;
  plan.m = x.dim(0);
  plan.k = x.dim(1);
  plan.x = x.raw();
  plan.x_dtype = plan.out_dtype = x.dtype();
  plan.dtype = w.dtype();
  plan.ld = bytes_of(w.dtype(), w.strides()[0]);
  plan.jobs[0] = {w.raw(), w.dim(0), out.raw(), nullptr, nullptr};
  multiply_packed(x.device(), plan);
}

}  // namespace wick::cuda
