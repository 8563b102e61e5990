#include "backends/cuda/dequantize.h"
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
constexpr int kPad = 8;
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
  static constexpr int kStages = kTotal * kWarps * 4 <= 100 * 1024 ? 4 : kTotal * kWarps * 3 <= 100 * 1024 ? 3 : 2;
};

struct PackedPlan {
  const uint8_t* weights;
  int64_t row_bytes, n, m, k;
  const void* x;
  void* out;
};

// Up to 8 rows of x against 16 rows of weights; each warp takes one part of k, as in few_rows_kernel.
template <typename Block, typename X>
__global__ void __launch_bounds__(kWarps * 32) packed_kernel(const __grid_constant__ PackedPlan plan) {
  using Format = Pairs<Block>;
  using S = Stage<Block>;
  extern __shared__ __align__(128) char memory[];
  __shared__ float largest[kWarps], factors[kMostTokens];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const auto k = static_cast<int>(plan.k), m = static_cast<int>(plan.m);
  const int64_t first_row = int64_t{blockIdx.x} * kRows;
  const int part = static_cast<int>(part_size(k)), begin = min(k, warp * part), end = min(k, begin + part);
  const int first_super = begin / kSuper, supers = end > begin ? (end + kSuper - 1) / kSuper - first_super : 0;

  char* ring = memory + warp * S::kStages * S::kTotal;
  // Chunks of 16 bytes at their own alignment: up to 15 bytes before and behind a row's blocks come along, all within
  // the matrix's memory.
  const auto source_of = [&](int row, int super) {
    const int64_t at = min(first_row + row, plan.n - 1);
    return plan.weights + at * plan.row_bytes + int64_t{super} * S::kBytes;
  };
  const auto start_stage = [&](int stage) {
    if (stage < supers) {
      const int super = first_super + stage;
      const int bytes = min(S::kBytes, static_cast<int>(plan.row_bytes) - super * S::kBytes);
      const uint32_t place = shared_address(ring + stage % S::kStages * S::kTotal);
      constexpr int kChunks = S::kPitch / 16;
      for (int i = lane; i < kRows * kChunks; i += 32) {
        const int row = i / kChunks, chunk = i % kChunks;
        const auto address = reinterpret_cast<uintptr_t>(source_of(row, super));
        const uintptr_t first = address & ~uintptr_t{15}, from = first + static_cast<uintptr_t>(chunk) * 16;
        if (from < address + static_cast<uintptr_t>(bytes)) {
          copy_async(place + static_cast<uint32_t>(row * S::kPitch + chunk * 16), reinterpret_cast<const void*>(from));
        }
      }
    }
    commit_copies();
  };
  for (int stage = 0; stage < S::kStages - 1; ++stage) start_stage(stage);

  auto* x = reinterpret_cast<uint32_t*>(memory + kWarps * S::kStages * S::kTotal);
  const int pitch = (k + 63) / 64 * 64 + kPad;
  for (int token = 0; token < m; ++token) {
    const X* from = static_cast<const X*>(plan.x) + int64_t{token} * k;
    float most = 0;
    for (int i = threadIdx.x * 4; i < k; i += kWarps * 32 * 4) {
      const auto four = *reinterpret_cast<const Four<X>*>(from + i);
#pragma unroll
      for (int j = 0; j < 4; ++j) most = fmaxf(most, fabsf(widen(four.at[j])));
    }
    most = block_combine(most, largest, 0.0f, [](float a, float b) { return fmaxf(a, b); });
    const float factor = row_factor(most);
    if (threadIdx.x == 0) factors[token] = 1 / factor;
    for (int i = threadIdx.x * 4; i < pitch - kPad; i += kWarps * 32 * 4) {
      float four[4] = {};
      if (i < k) {
        const auto values = *reinterpret_cast<const Four<X>*>(from + i);
#pragma unroll
        for (int j = 0; j < 4; ++j) four[j] = widen(values.at[j]) * factor;
      }
      x[(token * pitch + i) / 2] = round_pair<__half>(four[0], four[1]);
      x[(token * pitch + i) / 2 + 1] = round_pair<__half>(four[2], four[3]);
    }
  }
  __syncthreads();

  const int g = lane / 4, t = lane % 4;
  const uint32_t* x_row = x + (g < m ? g : 0) * pitch / 2 + t;
  float sum[4] = {};
  for (int stage = 0; stage < supers; ++stage) {
    wait_copies<S::kStages - 2>();
    __syncwarp();
    const int super = first_super + stage;
    char* place = ring + stage % S::kStages * S::kTotal;
    auto* scales = reinterpret_cast<__half2*>(place + kRows * S::kPitch);  // [kGroups, kRows]
    const auto row_bytes = [&](int row) {
      const auto shift = reinterpret_cast<uintptr_t>(source_of(row, super)) & 15;
      return reinterpret_cast<const uint8_t*>(place + row * S::kPitch + shift);
    };
#pragma unroll
    for (int i = lane; i < kRows * S::kGroups; i += 32) {
      const int row = i % kRows, group = i / kRows;
      constexpr int kPerBlock = S::kBlock / Format::kGroup;
      const uint8_t* block = row_bytes(row) + group / kPerBlock * static_cast<int>(sizeof(Block));
      scales[i] = Format::scales(block, group % kPerBlock);
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
    __syncwarp();
    start_stage(stage + S::kStages - 1);
  }
  wait_copies<0>();
  __syncthreads();
  auto* partial = reinterpret_cast<float*>(memory);  // [kWarps, kRows, kMostTokens]
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    partial[(warp * kRows + g + e / 2 * 8) * kMostTokens + 2 * t + e % 2] = sum[e];
  }
  __syncthreads();
  const int token = threadIdx.x / kRows, row = threadIdx.x % kRows;
  if (token >= m || first_row + row >= plan.n) return;
  float total = 0;
#pragma unroll
  for (int i = 0; i < kWarps; ++i) total += partial[(i * kRows + row) * kMostTokens + token];
  static_cast<X*>(plan.out)[token * plan.n + first_row + row] = to<X>(total * factors[token]);
}

template <typename Block>
size_t shared_bytes(int64_t m, int64_t k) {
  return static_cast<size_t>(kWarps * Stage<Block>::kStages * Stage<Block>::kTotal +
                             m * ((k + 63) / 64 * 64 + kPad) * 2);
}

template <typename Block, typename X>
void launch_packed(const Tensor& x, const Tensor& w, const Tensor& out) {
  const Device device = x.device();
  const Runtime& use = runtime(device);
  allow_shared<packed_kernel<Block, X>>(device, use.shared_bytes - 1024);
  const int64_t rows = x.dim(0), k = x.dim(1), n = w.dim(0);
  int64_t step = kMostTokens;
  while (step > 1 && shared_bytes<Block>(step, k) > static_cast<size_t>(use.shared_bytes - 1024)) step /= 2;
  for (int64_t row = 0; row < rows; row += step) {
    const PackedPlan plan{data_of<const uint8_t>(w),
                          bytes_of(w.dtype(), w.strides()[0]),
                          n,
                          std::min(step, rows - row),
                          k,
                          data_of<const X>(x) + row * k,
                          data_of<X>(out) + row * n};
    packed_kernel<Block, X>
        <<<blocks_for(n, kRows), kWarps * 32, shared_bytes<Block>(plan.m, k), use.stream>>>(plan);
    check_launch(device, "matmul");
  }
}

// Rows of x scaled into f16, and 1 / factor of each.
template <typename X>
__global__ void __launch_bounds__(kThreads)
    scale_rows_kernel(const X* x, int64_t k, int64_t ld, __half* out, float* inverses) {
  __shared__ float shared[32];
  const X* from = x + blockIdx.x * k;
  float most = 0;
  for (int64_t i = threadIdx.x; i < k; i += kThreads) most = fmaxf(most, fabsf(widen(from[i])));
  most = block_combine(most, shared, 0.0f, [](float a, float b) { return fmaxf(a, b); });
  const float factor = row_factor(most);
  if (threadIdx.x == 0) inverses[blockIdx.x] = 1 / factor;
  for (int64_t i = threadIdx.x; i < ld; i += kThreads) {
    out[blockIdx.x * ld + i] = to<__half>(i < k ? widen(from[i]) * factor : 0.0f);
  }
}

// Many rows, and formats without a kernel of their own: the weights in f16 once for all rows.
template <typename X>
void multiply_unpacked(const Tensor& x, const Tensor& w, const Tensor& out) {
  const Device device = x.device();
  const Runtime& use = runtime(device);
  const int64_t m = x.dim(0), k = x.dim(1), n = w.dim(0), ld = (k + 7) / 8 * 8;
  const Scratch weights(device, static_cast<size_t>(n * ld * 2)), rows(device, static_cast<size_t>(m * ld * 2)),
      inverses(device, static_cast<size_t>(m) * sizeof(float)), sums(device, static_cast<size_t>(m * n) * sizeof(float));
  dequantize_to_f16(w, ld, weights.as<void>());
  scale_rows_kernel<X><<<static_cast<unsigned>(m), kThreads, 0, use.stream>>>(data_of<const X>(x), k, ld,
                                                                             rows.as<__half>(), inverses.as<float>());
  check_launch(device, "matmul");
  WeightPlan plan;
  plan.m = m;
  plan.k = plan.ld = ld;
  plan.x = rows.as<void>();
  plan.x_dtype = plan.dtype = DType::kF16;
  plan.out_dtype = DType::kF32;
  plan.jobs[0] = {weights.as<void>(), n, sums.as<void>(), nullptr, nullptr};
  multiply_weights(device, plan);
  const auto* from = sums.as<const float>();
  const auto* factors = inverses.as<const float>();
  auto* target = data_of<X>(out);
  for_each_index(device, "matmul", m * n, [=] __device__(int64_t i) { target[i] = to<X>(from[i] * factors[i / n]); });
}

template <typename X>
void run(const Tensor& x, const Tensor& w, const Tensor& out) {
  constexpr int64_t kFewRows = 16;
  const bool few = x.dim(0) <= kFewRows && aligned(x.raw(), 4 * sizeof(X));
  bool done = false;
  visit_packed(w.dtype(), [&](auto block) {
    if constexpr (Pairs<decltype(block)>::kKnown) {
      if (few) {
        launch_packed<decltype(block), X>(x, w, out);
        done = true;
      }
    }
  });
  if (!done) multiply_unpacked<X>(x, w, out);
}

}  // namespace

void matmul_packed(const Tensor& x, const Tensor& w, const Tensor& out) {
  if (out.numel() == 0) return;
  if (x.dtype() == DType::kF32) return run<float>(x, w, out);
  x.dtype() == DType::kF16 ? run<__half>(x, w, out) : run<__nv_bfloat16>(x, w, out);
}

}  // namespace wick::cuda
