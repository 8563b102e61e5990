#include "backends/cuda/launch.cuh"
#include "backends/cuda/matmul_plan.h"
#include "backends/cuda/mma.cuh"

namespace wick::cuda {
namespace {

constexpr int kWarps = kParts, kRows = 8, kStages = 8;  // weights' rows of a block; pieces of 64 columns under way
constexpr int kStageBytes = kRows * 128;
constexpr int kMostTokens = 8;
constexpr int kPad = 8;  // elements between rows of x, so that eight of them lie in different banks

template <typename X>
__device__ __forceinline__ float4 load_four(const X* x) {
  if constexpr (std::is_same_v<X, float>) {
    return *reinterpret_cast<const float4*>(x);
  } else {
    const auto four = *reinterpret_cast<const Four<X>*>(x);
    return {widen(four.at[0]), widen(four.at[1]), widen(four.at[2]), widen(four.at[3])};
  }
}

template <typename X>
__device__ __forceinline__ void store_sum(const WeightJob& job, int64_t token, int64_t row, float sum) {
  const int64_t at = token * job.n + row;
  if (job.bias) sum += job.bias[row];
  if (job.residual) sum += job.residual[at];
  static_cast<X*>(job.out)[at] = to<X>(sum);
}

// Up to 8 rows of x against 8 rows of weights. Each warp takes one part of k and streams its weights through shared
// memory with its own copies, so that no warp waits for another; weights are on their way before x is read.
template <typename T, typename X>
__global__ void __launch_bounds__(kWarps * 32) few_rows_kernel(const __grid_constant__ WeightPlan plan) {
  extern __shared__ __align__(128) char memory[];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const auto k = static_cast<int>(plan.k), m = static_cast<int>(plan.m);
  int64_t block = blockIdx.x;
  int which = 0;
  while (which + 1 < plan.count && block >= (plan.jobs[which].n + kRows - 1) / kRows) {
    block -= (plan.jobs[which].n + kRows - 1) / kRows;
    ++which;
  }
  const WeightJob& job = plan.jobs[which];
  const int64_t first_row = block * kRows;
  const int part = static_cast<int>(part_size(k)), begin = min(k, warp * part), end = min(k, begin + part);
  const int stages = (end - begin + 63) / 64;

  // This lane copies 16 bytes of rows r and r + 4 at column chunk c of 8 elements, chunks turned by the row so that
  // load_matrices meets each bank once.
  const int r = lane / 8, c = lane % 8;
  const auto row_of = [&](int i) {
    const int64_t row = min(first_row + i, job.n - 1);
    return static_cast<const T*>(job.weights) + row * plan.ld;
  };
  const T *upper = row_of(r), *lower = row_of(r + 4);
  const uint32_t ring = shared_address(memory) + static_cast<uint32_t>(warp * kStages * kStageBytes);
  const auto start_stage = [&](int stage) {
    if (stage < stages) {
      const int column = begin + stage * 64 + c * 8;
      const bool valid = column < end;
      const uint32_t place = ring + static_cast<uint32_t>(stage % kStages * kStageBytes);
      const int source = valid ? column : 0;
      copy_async(place + static_cast<uint32_t>(r * 128 + (c ^ r) * 16), upper + source, valid);
      copy_async(place + static_cast<uint32_t>((r + 4) * 128 + (c ^ (r + 4)) * 16), lower + source, valid);
    }
    commit_copies();
  };
  for (int stage = 0; stage < kStages - 1; ++stage) start_stage(stage);

  // x in the weights' dtype, [m, pitch].
  auto* x = reinterpret_cast<uint32_t*>(memory + kWarps * kStages * kStageBytes);
  const int pitch = (k + 63) / 64 * 64 + kPad;
  for (int token = 0; token < m; ++token) {
    const X* from = static_cast<const X*>(plan.x) + int64_t{token} * k;
    for (int i = threadIdx.x * 4; i < pitch - kPad; i += kWarps * 32 * 4) {
      const float4 four = i < k ? load_four(from + i) : float4{0, 0, 0, 0};
      x[(token * pitch + i) / 2] = round_pair<T>(four.x, four.y);
      x[(token * pitch + i) / 2 + 1] = round_pair<T>(four.z, four.w);
    }
  }
  __syncthreads();

  const int g = lane / 4, t = lane % 4;
  const uint32_t* x_row = x + (g < m ? g : 0) * pitch / 2 + t;
  float sum[4] = {};
  for (int stage = 0; stage < stages; ++stage) {
    wait_copies<kStages - 2>();
    __syncwarp();
    start_stage(stage + kStages - 1);
    const uint32_t place = ring + static_cast<uint32_t>(stage % kStages * kStageBytes);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      uint32_t w[4];
      const int row = lane % 8, chunk = half * 4 + lane / 8;
      load_matrices(w, place + static_cast<uint32_t>(row * 128 + (chunk ^ row) * 16));
#pragma unroll
      for (int step = 0; step < 2; ++step) {
        const int pair = (begin + stage * 64 + half * 32 + step * 16) / 2;
        uint32_t a[4] = {0, 0, 0, 0};
        if (g < m) {
          a[0] = x_row[pair];
          a[2] = x_row[pair + 4];
        }
        mma<T>(sum, a, w[2 * step], w[2 * step + 1]);
      }
    }
  }
  wait_copies<0>();
  __syncthreads();
  auto* partial = reinterpret_cast<float*>(memory);  // [kWarps, kMostTokens, kRows]
  partial[(warp * kMostTokens + g) * kRows + 2 * t] = sum[0];
  partial[(warp * kMostTokens + g) * kRows + 2 * t + 1] = sum[1];
  __syncthreads();
  const int token = threadIdx.x / kRows, row = threadIdx.x % kRows;
  if (token >= m || first_row + row >= job.n) return;
  float total = 0;
#pragma unroll
  for (int i = 0; i < kWarps; ++i) total += partial[(i * kMostTokens + token) * kRows + row];
  if (plan.out_dtype == DType::kF32) {
    store_sum<float>(job, token, first_row + row, total);
  } else {
    store_sum<T>(job, token, first_row + row, total);
  }
}

size_t shared_bytes(const WeightPlan& plan) {
  const int64_t pitch = (plan.k + 63) / 64 * 64 + kPad;
  return static_cast<size_t>(kWarps * kStages * kStageBytes + plan.m * pitch * 2);
}

template <typename T, typename X>
void launch(Device device, const WeightPlan& plan) {
  const Runtime& use = runtime(device);
  allow_shared<few_rows_kernel<T, X>>(device, use.shared_bytes);
  int64_t blocks = 0;
  for (int i = 0; i < plan.count; ++i) blocks += (plan.jobs[i].n + kRows - 1) / kRows;
  few_rows_kernel<T, X><<<static_cast<unsigned>(blocks), kWarps * 32, shared_bytes(plan), use.stream>>>(plan);
  check_launch(device, "matmul");
}

}  // namespace

// With little room left, too few blocks share a multiprocessor to keep the memory busy.
bool fits_few_rows(const Runtime& use, const WeightPlan& plan) {
  return plan.m <= kMostTokens && plan.k % 8 == 0 && aligned(plan.x, 16) &&
         shared_bytes(plan) <= static_cast<size_t>(std::min(use.shared_bytes, 112 * 1024));
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
