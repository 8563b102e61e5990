#include "backends/cuda/dependent_launch.cuh"
#include "backends/cuda/dequantize.h"
#include "backends/cuda/input_rows.cuh"
#include "backends/cuda/kernels.h"
#include "backends/cuda/launch.cuh"
#include "backends/cuda/matmul_plan.h"
#include "backends/cuda/mma.cuh"
#include "backends/cuda/packed_fragments.cuh"

// Products with packed weights are products with the f16 numbers that Pairs makes of them, and activations in f16, in
// the order of packed_fragments.cuh.
// Each row of x is first multiplied by a power of two that brings its largest magnitude to 2^11 or below, so that f16
// holds it whatever its range; the result is multiplied back.
namespace wick::cuda {
namespace {

constexpr int kWarps = kParts, kRows = 16, kMostTokens = 8, kSuper = 256;  // weights of a row in a stage
constexpr int kPartialFloats = kWarps * kRows * kMostTokens;
constexpr int kTopExponent = 11;

// 2^e with largest * 2^e in [2^10, 2^11); 1 for zeros and for what is not finite.
__device__ __forceinline__ float row_factor(float largest) {
  if (!(largest > 0) || largest > 3.0e38f) return 1;
  const int exponent = ilogbf(largest);
  return exp2f(static_cast<float>(min(max(kTopExponent - 1 - exponent, -126), 126)));
}

// Four columns 4t to 4t + 3 of x in the order of the fragments.
__device__ __forceinline__ uint2 ordered(float4 four, float factor) {
  return {round_pair<__half>(four.x * factor, four.z * factor), round_pair<__half>(four.y * factor, four.w * factor)};
}

// A warp's stage: 256 weights of each of 16 rows.
template <typename Block>
struct Stage {
  static constexpr int kBytes = Fragments<Block>::kBytes;
  // Of a row; one that starts anywhere within 16 bytes brings up to 30 more.
  static constexpr int kPitch = Fragments<Block>::kWhole ? kBytes : (kBytes + 15 + 15) / 16 * 16;
  static constexpr int kTotal = kRows * kPitch;
  static constexpr int kScales = kRows * 32;  // bytes of [kRows, 8 groups] (step, min)
  static constexpr int warp_bytes(int stages) { return stages * kTotal + kScales; }
};

template <typename X>
__device__ __forceinline__ void store_product(const WeightJob& job, int64_t token, int64_t row, float product) {
  const int64_t at = token * job.n + row;
  if (job.bias) product += job.bias[row];
  if (job.residual) product += job.residual[at];
  static_cast<X*>(job.out)[at] = to<X>(product);
}

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
__device__ __forceinline__ const uint8_t* row_of(const WeightPlan& plan, const TilePlace& place, int row) {
  const int other = plan.gated ? row / (kRows / 2) : 0, at = plan.gated ? row % (kRows / 2) : row;
  const WeightJob& job = plan.jobs[place.job + other];
  return static_cast<const uint8_t*>(job.weights) + min(place.first_row + at, static_cast<int>(job.n) - 1) * plan.ld;
}

// Up to 8 rows of x against all weights, 16 rows of those at a time; each warp takes one part of k, from tile to tile,
// as in few_rows_kernel.
template <typename Block, typename X>
__global__ void __launch_bounds__(kThreads, 3)
    packed_kernel(const __grid_constant__ WeightPlan plan, int tiles, int stages) {
  using Format = Fragments<Block>;
  using S = Stage<Block>;
  extern __shared__ __align__(128) char memory[];
  __shared__ typename InputRow<X, true>::Shared reduced;
  __shared__ float factors[kMostTokens];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const auto k = static_cast<int>(plan.k), m = static_cast<int>(plan.m);
  const int part = static_cast<int>(part_size(k)), begin = min(k, warp * part), end = min(k, begin + part);
  const int first_super = begin / kSuper, supers = end > begin ? (end + kSuper - 1) / kSuper - first_super : 0;
  const int blocks = static_cast<int>(gridDim.x), block = static_cast<int>(blockIdx.x);
  const int my_tiles = (tiles - block + blocks - 1) / blocks;

  char* ring = memory + warp * S::warp_bytes(stages);
  const uint32_t copy_place = shared_address(ring) + static_cast<uint32_t>(g * S::kPitch + t * 16);
  // Four lanes copy rows g and g + 8, in chunks of 16 bytes at their own alignment: up to 15 bytes before and behind a
  // row's blocks come along, all within the matrix's memory.
  constexpr int kChunks = S::kPitch / 16, kCopies = (kChunks + 3) / 4;
  const uint8_t *next_upper = nullptr, *next_lower = nullptr;
  int next_tile = 0, next_stage = 0, next_slot = 0;
  const auto copy_row = [&](const uint8_t* row, uint32_t place, int bytes) {
    const int shift = Format::kWhole ? 0 : static_cast<int>(reinterpret_cast<uintptr_t>(row) & 15);
    const uint8_t* from = row - shift + t * 16;
    const int until = shift + bytes - t * 16;
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      const bool inside = Format::kWhole ? i * 4 + 3 < kChunks || i * 4 + t < kChunks : i * 64 < until;
      if (inside) copy_async(place + static_cast<uint32_t>(i * 64), from + i * 64);
    }
  };
  const auto start_next = [&] {
    if (next_tile < my_tiles && supers > 0) {
      if (next_stage == 0) {
        const TilePlace place = place_of(plan, block + next_tile * blocks);
        next_upper = row_of(plan, place, g) + first_super * S::kBytes;
        next_lower = row_of(plan, place, g + 8) + first_super * S::kBytes;
      }
      const int bytes = min(S::kBytes, static_cast<int>(plan.ld) - (first_super + next_stage) * S::kBytes);
      const uint32_t place = copy_place + static_cast<uint32_t>(next_slot * S::kTotal);
      copy_row(next_upper, place, bytes);
      copy_row(next_lower, place + 8 * S::kPitch, bytes);
      next_upper += S::kBytes;
      next_lower += S::kBytes;
      if (++next_stage == supers) {
        next_stage = 0;
        ++next_tile;
      }
      if (++next_slot == stages) next_slot = 0;
    }
    commit_copies();
  };
  let_next_start();
  if (!plan.steady) wait_for_previous();
  fetch_norm(plan);
  for (int i = 0; i < stages - 1; ++i) start_next();
  if (plan.steady) wait_for_previous();

  // x in f16, [m, pitch]: of each 32 columns, what lane t needs for two steps lies together.
  auto* partials = reinterpret_cast<float*>(memory + kWarps * S::warp_bytes(stages));
  auto* x = reinterpret_cast<char*>(partials + 2 * kPartialFloats);
  const int padded = (k + 63) / 64 * 64, pitch = padded * 2 + 64;
  for (int token = 0; token < m; ++token) {
    const InputRow<X, true> row(plan, token, reduced);
    const float factor = row_factor(row.most());
    if (threadIdx.x == 0) factors[token] = 1 / factor;
    row.each([&](int64_t at, float4 four) {
      const int i = static_cast<int>(at), place = token * pitch + i / 32 * 64 + i % 16 * 4 + i % 32 / 16 * 8;
      *reinterpret_cast<uint2*>(x + place) = ordered(four, factor);
    });
  }
  __syncthreads();

  const char* x_row = x + (g < m ? g : 0) * pitch + t * 16;  // rows beyond m go nowhere
  auto* scales = reinterpret_cast<__half2*>(ring + stages * S::kTotal);
  int slot = 0;
  for (int tile = 0; tile < my_tiles; ++tile) {
    const TilePlace tile_place = place_of(plan, block + tile * blocks);
    float sum[4] = {};
    const auto low_bits = [&](int row) {  // of where a row begins
      return Format::kWhole ? 0 : static_cast<int>(reinterpret_cast<uintptr_t>(row_of(plan, tile_place, row)) & 15);
    };
    const int scaled_low = low_bits(lane % kRows), upper_low = low_bits(g), lower_low = low_bits(g + 8);
    for (int stage = 0; stage < supers; ++stage) {
      stages == 2 ? wait_copies<0>() : wait_copies<2>();
      __syncwarp();
      start_next();
      const int super = first_super + stage;
      const auto* place = reinterpret_cast<const uint8_t*>(ring + slot * S::kTotal);
      if (++slot == stages) slot = 0;
      const auto row_bytes = [&](int row, int low) {
        return place + row * S::kPitch + (Format::kWhole ? 0 : (low + super * S::kBytes) & 15);
      };
      {
        __half2 four[4];
        Format::scales(row_bytes(lane % kRows, scaled_low), lane / kRows, four);
        *reinterpret_cast<uint4*>(scales + lane % kRows * 8 + lane / kRows * 4) = {
            pack_pair(four[0]), pack_pair(four[1]), pack_pair(four[2]), pack_pair(four[3])};
      }
      __syncwarp();
      const uint8_t *upper = row_bytes(g, upper_low), *lower = row_bytes(g + 8, lower_low);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int column = super * kSuper + half * 128;
        if (column + 128 <= begin || column >= end) continue;
        uint32_t upper_raw[Format::kWords], lower_raw[Format::kWords];
        Format::load(upper, half, t, upper_raw);
        Format::load(lower, half, t, lower_raw);
        const uint4 upper_scales = *reinterpret_cast<const uint4*>(scales + g * 8 + half * 4);
        const uint4 lower_scales = *reinterpret_cast<const uint4*>(scales + (g + 8) * 8 + half * 4);
        const auto multiply = [&](int q) {
          const auto scale_of = [&](const uint4& of) {
            return as_half2(q == 0 ? of.x : q == 1 ? of.y : q == 2 ? of.z : of.w);
          };
          const uint4 b = *reinterpret_cast<const uint4*>(x_row + (column + q * 32) * 2);
#pragma unroll
          for (int s = 0; s < 2; ++s) {
            const FragmentPairs up = Format::pairs(upper_raw, half, q, s, scale_of(upper_scales));
            const FragmentPairs low = Format::pairs(lower_raw, half, q, s, scale_of(lower_scales));
            const uint32_t a[4] = {up.low, low.low, up.high, low.high};
            mma<__half>(sum, a, s ? b.z : b.x, s ? b.w : b.y);
          }
        };
        if (column >= begin && column + 128 <= end) {
#pragma unroll
          for (int q = 0; q < 4; ++q) multiply(q);
        } else {  // a part's edge
#pragma unroll
          for (int q = 0; q < 4; ++q) {
            if (column + q * 32 >= begin && column + q * 32 < end) multiply(q);
          }
        }
      }
      __syncwarp();  // the scales are read
    }
    float* partial = partials + tile % 2 * kPartialFloats;  // [kWarps, kRows, kMostTokens]
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      partial[(warp * kRows + g + e / 2 * 8) * kMostTokens + 2 * t + e % 2] = sum[e];
    }
    __syncthreads();
    const int token = threadIdx.x / kRows, row = threadIdx.x % kRows;
    const WeightJob& job = plan.jobs[tile_place.job];
    const int out_row = tile_place.first_row + row;
    if (token >= m || out_row >= job.n || (plan.gated && row >= kRows / 2)) continue;
    const auto total_of = [&](int of) {
      float total = 0;
#pragma unroll
      for (int i = 0; i < kWarps; ++i) total += partial[(i * kRows + of) * kMostTokens + token];
      return __fmul_rn(total, factors[token]);
    };
    if (!plan.gated) {
      store_product<X>(job, token, out_row, total_of(row));
      continue;
    }
    float gate = total_of(row), up = total_of(row + kRows / 2);
    if (job.bias) gate += job.bias[out_row];
    if (plan.jobs[1].bias) up += plan.jobs[1].bias[out_row];
    static_cast<X*>(job.out)[int64_t{token} * job.n + out_row] = to<X>(gated(gate, up));
  }
  wait_copies<0>();
}

template <typename Block>
size_t shared_bytes(int64_t m, int64_t k, int stages) {
  return static_cast<size_t>(kWarps * Stage<Block>::warp_bytes(stages) + 2 * kPartialFloats * 4 +
                             m * ((k + 63) / 64 * 128 + 64));
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
  const auto most_shared = static_cast<size_t>(use.shared_bytes - 1024);
  allow_shared<packed_kernel<Block, X>>(device, use.shared_bytes - 1024);
  int64_t step = kMostTokens, tiles = 0;
  while (step > 1 && shared_bytes<Block>(step, plan.k, 2) > most_shared) step /= 2;
  for (int i = 0; i < plan.count; ++i) tiles += (plan.jobs[i].n + kRows - 1) / kRows;
  if (plan.gated) tiles = (plan.jobs[0].n + kRows / 2 - 1) / (kRows / 2);
  // With few tiles it takes more stages to keep the memory busy, else more blocks to keep the processors busy.
  const auto room = [&](int stages) {
    return static_cast<int64_t>(use.shared_bytes) /
           static_cast<int64_t>(shared_bytes<Block>(std::min(step, plan.m), plan.k, stages) + 1024);
  };
  const int stages = room(4) >= 2 && (tiles <= use.multiprocessors * 2 || room(4) >= 3) ? 4 : 2;
  const auto blocks =
      static_cast<unsigned>(std::min<int64_t>(tiles, use.multiprocessors * std::clamp<int64_t>(room(stages), 1, 3)));
  for (int64_t row = 0; row < plan.m; row += step) {
    const WeightPlan part = rows_of<X>(plan, row, std::min(step, plan.m - row));
    launch_dependent(device, "matmul", packed_kernel<Block, X>, blocks, kThreads,
                     shared_bytes<Block>(part.m, plan.k, stages), part, static_cast<int>(tiles), stages);
  }
}

// Rows of x scaled into f16, and 1 / factor of each.
template <typename X>
__global__ void __launch_bounds__(kThreads)
    scale_rows_kernel(const __grid_constant__ WeightPlan plan, int64_t ld, __half* out, float* inverses) {
  __shared__ typename InputRow<X, true>::Shared reduced;
  __shared__ float several[32];
  const int64_t k = plan.k, at = blockIdx.x;
  auto* target = reinterpret_cast<uint32_t*>(out + at * ld);
  const auto put = [&](int64_t i, float4 four, float factor) {
    const uint2 both = ordered(four, factor);
    const int64_t place = i / 16 * 8 + i % 16 / 4;  // in pairs
    target[place] = both.x;
    target[place + 4] = both.y;
  };
  float factor;
  if (k % 4 == 0) {
    const InputRow<X, true> row(plan, at, reduced);
    factor = row_factor(row.most());
    row.each([&](int64_t i, float4 four) { put(i, four, factor); });
    for (int64_t i = k + threadIdx.x * 4; i < ld; i += kThreads * 4) put(i, {0, 0, 0, 0}, 1);
  } else {
    const X* x = static_cast<const X*>(plan.x) + at * k;
    const auto one = [&](int64_t j) { return j < k ? static_cast<float>(widen(x[j])) : 0.0f; };
    float most = 0;
    for (int64_t i = threadIdx.x; i < k; i += kThreads) most = fmaxf(most, fabsf(one(i)));
    factor = row_factor(block_combine(most, several, 0.0f, [](float a, float b) { return fmaxf(a, b); }));
    for (int64_t i = threadIdx.x * 4; i < ld; i += kThreads * 4) {
      put(i, {one(i), one(i + 1), one(i + 2), one(i + 3)}, factor);
    }
  }
  if (threadIdx.x == 0) inverses[at] = 1 / factor;
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
  const int64_t m = plan.m, k = plan.k, ld = (k + 15) / 16 * 16;
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

constexpr int64_t kFewRows = 16;

// Whether the kernel that reads blocks as they are takes the plan.
bool fits_packed(const WeightPlan& plan, size_t x_bytes) {
  bool known = false, whole = plan.ld % 16 == 0, small = true;
  for (int i = 0; i < plan.count; ++i) {
    whole &= aligned(plan.jobs[i].weights, 16);
    small &= plan.jobs[i].n < int64_t{1} << 29;
  }
  visit_packed(plan.dtype, [&](auto block) {
    using Format = Fragments<decltype(block)>;
    if constexpr (Format::kKnown) known = whole || !Format::kWhole;
  });
  return known && small && plan.m <= kFewRows && aligned(plan.x, 4 * x_bytes) && plan.k % 4 == 0;
}

template <typename X>
void run(Device device, const WeightPlan& plan) {
  if (!fits_packed(plan, sizeof(X))) return multiply_unpacked<X>(device, plan);
  visit_packed(plan.dtype, [&](auto block) {
    if constexpr (Fragments<decltype(block)>::kKnown) launch_packed<decltype(block), X>(device, plan);
  });
}

}  // namespace

bool takes_gated(const Runtime& use, const WeightPlan& plan) {
  if (is_packed(plan.dtype)) return fits_packed(plan, static_cast<size_t>(size_of(plan.x_dtype)));
  return takes_gated_weights(use, plan);
}

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
