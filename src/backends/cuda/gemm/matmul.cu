#include "backends/cuda/gemm/input_rows.cuh"
#include "backends/cuda/gemm/matmul_plan.h"
#include "backends/cuda/gemm/mma.cuh"
#include "backends/cuda/runtime/dependent_launch.cuh"
#include "backends/cuda/runtime/kernels.h"
#include "backends/cuda/runtime/launch.cuh"
#include "tensor/create.h"

namespace wick::cuda {
namespace {

constexpr int kTile = 32, kStep = 16;  // of the plain kernel

struct PlainPlan {
  Walk<3> batch;  // a, b, out
  int64_t m, n, k;
  int64_t a_row, a_col, b_row, b_col;
};

// Any strides and dtypes: 32 x 32 results a block, four a thread. Steps of 16 along k are added up in order, and then
// to the sum, which keeps long sums accurate.
template <typename A, typename B, typename C>
__global__ void __launch_bounds__(kThreads) plain_kernel(const A* a, const B* b, PlainPlan plan, C* out) {
  using W = std::conditional_t<std::is_same_v<C, double>, double, float>;
  __shared__ W left[kStep][kTile + 1], right[kStep][kTile + 1];
  const int tx = threadIdx.x % kTile, ty = threadIdx.x / kTile;  // 32 x 8
  const int64_t row0 = int64_t{blockIdx.x} * kTile, col0 = int64_t{blockIdx.y} * kTile;
  for (int64_t batch = blockIdx.z; batch < plan.batch.total; batch += gridDim.z) {
    int64_t at[3];
    plan.batch.offsets(batch, at);
    W sums[4] = {};
    for (int64_t k0 = 0; k0 < plan.k; k0 += kStep) {
      for (int i = threadIdx.x; i < kTile * kStep; i += kThreads) {
        const int along = i % kStep, across = i / kStep;
        const int64_t k = k0 + along, row = row0 + across;
        left[along][across] =
            row < plan.m && k < plan.k ? static_cast<W>(widen(a[at[0] + row * plan.a_row + k * plan.a_col])) : W(0);
      }
      for (int i = threadIdx.x; i < kTile * kStep; i += kThreads) {
        // Neighbouring threads read neighbouring elements, whichever way b lies.
        const bool rows = plan.b_col == 1;
        const int along = rows ? i / kTile : i % kStep, across = rows ? i % kTile : i / kStep;
        const int64_t k = k0 + along, col = col0 + across;
        right[along][across] =
            col < plan.n && k < plan.k ? static_cast<W>(widen(b[at[1] + k * plan.b_row + col * plan.b_col])) : W(0);
      }
      __syncthreads();
      const int steps = static_cast<int>(min(int64_t{kStep}, plan.k - k0));
      W parts[4] = {};
      for (int k = 0; k < steps; ++k) {
#pragma unroll
        for (int i = 0; i < 4; ++i) parts[i] = fma(left[k][ty + 8 * i], right[k][tx], parts[i]);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) sums[i] += parts[i];
      __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int64_t row = row0 + ty + 8 * i, col = col0 + tx;
      if (row < plan.m && col < plan.n) out[at[2] + row * plan.n + col] = to<C>(sums[i]);
    }
  }
}

constexpr int kColumns = 32, kDepth = 128, kFewRows = 16;  // of the kernel for few rows

// Few rows of x [m, k] against weights [n, k] in f32: a thread for each result, added up as in plain_kernel, while the
// next columns are on their way.
__global__ void __launch_bounds__(kColumns)
    plain_rows_kernel(const float* x, const float* weights, int64_t n, int k, int64_t ld, float* out) {
  __shared__ __align__(16) float right[2][kColumns][kDepth + 4], left[2][kDepth];
  const int lane = threadIdx.x;
  const int64_t first = int64_t{blockIdx.x} * kColumns;
  x += int64_t{blockIdx.y} * k;
  launch_dependents();
  wait_for_prerequisites();
  const auto start = [&](int stage) {
    const int column = stage * kDepth + lane * 4;
    if (stage * kDepth < k) {
      const bool inside = column < k;
      copy_async(shared_address(&left[stage % 2][lane * 4]), inside ? x + column : x, inside);
      for (int row = 0; row < kColumns; ++row) {
        const bool valid = inside && first + row < n;
        copy_async(shared_address(&right[stage % 2][row][lane * 4]),
                   valid ? weights + (first + row) * ld + column : weights, valid);
      }
    }
    commit_copies();
  };
  start(0);
  float sum = 0;
  for (int stage = 0; stage * kDepth < k; ++stage) {
    start(stage + 1);
    wait_copies<1>();
    __syncwarp();
    const int steps = min(kDepth, k - stage * kDepth);
    for (int i = 0; i < steps; i += kStep) {
      float part = 0;
#pragma unroll
      for (int j = i; j < i + kStep; j += 4) {
        if (j >= steps) break;
        const float4 a = *reinterpret_cast<const float4*>(&left[stage % 2][j]);
        const float4 b = *reinterpret_cast<const float4*>(&right[stage % 2][lane][j]);
        part = __fmaf_rn(a.x, b.x, part);
        part = __fmaf_rn(a.y, b.y, part);
        part = __fmaf_rn(a.z, b.z, part);
        part = __fmaf_rn(a.w, b.w, part);
      }
      sum += part;
    }
    __syncwarp();
  }
  if (first + lane < n) out[int64_t{blockIdx.y} * n + first + lane] = sum;
}

// As a router's: f32, its rows along k.
bool fits_plain_rows(const Tensor& a, const Tensor& b, const Tensor& out) {
  return a.dtype() == DType::kF32 && b.dtype() == DType::kF32 && out.dtype() == DType::kF32 && a.rank() == 2 &&
         a.is_contiguous() && a.dim(0) <= kFewRows && a.dim(1) % 4 == 0 && a.dim(1) > 0 &&
         a.dim(1) < int64_t{1} << 30 && b.strides()[0] == 1 && b.strides()[1] % 4 == 0 && aligned(a.raw(), 16) &&
         aligned(b.raw(), 16);
}

void multiply_plain(const Tensor& a, const Tensor& b, const Tensor& out) {
  const Runtime& use = runtime(a.device());
  if (fits_plain_rows(a, b, out)) {
    const dim3 grid(blocks_for(out.dim(1), kColumns), static_cast<unsigned>(out.dim(0)));
    return launch_dependent(a.device(), "matmul", plain_rows_kernel, grid, kColumns, 0, data_of<const float>(a),
                            data_of<const float>(b), out.dim(1), static_cast<int>(a.dim(1)), b.strides()[1],
                            data_of<float>(out));
  }
  const int row = a.rank() - 2, col = a.rank() - 1;
  const Shape batch = out.shape().with(row, 1).with(col, 1);
  PlainPlan plan;
  plan.batch = make_walk<3>(batch, {a.strides(), b.strides(), out.strides()});
  plan.m = out.dim(row);
  plan.n = out.dim(col);
  plan.k = a.dim(col);
  plan.a_row = a.strides()[static_cast<size_t>(row)];
  plan.a_col = a.strides()[static_cast<size_t>(col)];
  plan.b_row = b.strides()[static_cast<size_t>(row)];
  plan.b_col = b.strides()[static_cast<size_t>(col)];
  const dim3 grid(blocks_for(plan.m, kTile), blocks_for(plan.n, kTile),
                  static_cast<unsigned>(std::min<int64_t>(plan.batch.total, 65535)));
  visit_float(a.dtype(), [&](auto left) {
    visit_float(b.dtype(), [&](auto right) {
      using A = decltype(left);
      using B = decltype(right);
      const auto launch = [&](auto result) {
        using C = decltype(result);
        plain_kernel<A, B, C>
            <<<grid, kThreads, 0, use.stream>>>(data_of<const A>(a), data_of<const B>(b), plan, data_of<C>(out));
      };
      if constexpr (std::is_same_v<A, double> || std::is_same_v<B, double>) {
        launch(double{});
      } else if constexpr (std::is_same_v<A, B>) {
        launch(A{});
      } else {
        launch(float{});
      }
    });
  });
  check_launch(a.device(), "matmul");
}

// Rows as InputRow makes them, in the dtype of the weights: a block for each, or, without a norm, for each 1024
// columns.
template <typename T, typename X>
__global__ void __launch_bounds__(kThreads) round_rows_kernel(const __grid_constant__ WeightPlan plan, uint32_t* out) {
  __shared__ typename InputRow<X, false>::Shared reduced;
  launch_dependents();
  wait_for_prerequisites();
  uint2* target = reinterpret_cast<uint2*>(out + blockIdx.x * plan.k / 2);
  const auto put = [&](int64_t i, float4 four) {
    target[i / 4] = {round_pair<T>(four.x, four.y), round_pair<T>(four.z, four.w)};
  };
  if (plan.norm_weight) {
    const InputRow<X, false> row(plan, blockIdx.x, reduced);
    row.each(put);
    return;
  }
  const int64_t i = (int64_t{blockIdx.y} * kThreads + threadIdx.x) * 4, at = blockIdx.x * plan.k + i;
  if (i >= plan.k) return;
  float4 four = load_four(static_cast<const X*>(plan.x) + at);
  if (plan.up) {
    const float4 up = *reinterpret_cast<const float4*>(plan.up + at);
    four = {gated(four.x, up.x), gated(four.y, up.y), gated(four.z, up.z), gated(four.w, up.w)};
  }
  put(i, four);
}

// Weights as models have them: one matrix of f16 or bf16 for all rows, whose rows [n, k] lie along k.
bool are_weights(const Tensor& a, const Tensor& b, const Tensor& out) {
  if (b.dtype() != DType::kF16 && b.dtype() != DType::kBF16) return false;
  if (a.dtype() == DType::kF64 || (a.dtype() != DType::kF32 && a.dtype() != b.dtype())) return false;
  const int row = b.rank() - 2, col = b.rank() - 1;
  for (int d = 0; d < row; ++d) {
    if (b.dim(d) > 1 && b.strides()[static_cast<size_t>(d)] != 0) return false;
  }
  return b.strides()[static_cast<size_t>(row)] == 1 && b.strides()[static_cast<size_t>(col)] % 8 == 0 &&
         b.dim(row) % 8 == 0 && b.dim(row) > 0 && aligned(b.raw(), 16);
}

// Where the kernels that read x as it is beat those with tensor maps: one row, or two that are not too long.
constexpr int64_t kFewMappedRows = 2, kFewMappedColumns = 8192;

bool prefers_few_rows(const Runtime& use, const WeightPlan& plan) {
  const bool few = plan.m == 1 || (plan.m <= kFewMappedRows && plan.k <= kFewMappedColumns);
  return fits_few_rows(use, plan) && (few || !fits_batch(use, plan));
}

// x in the dtype of the weights.
void multiply_rounded(Device device, const WeightPlan& plan) {
  const Runtime& use = runtime(device);
  if (prefers_few_rows(use, plan)) return multiply_few_rows(device, plan);
  if (fits_batch(use, plan)) return multiply_batch(device, plan);
  if (fits_hopper(use, plan)) return multiply_hopper(device, plan);
  multiply_tiles(device, plan);
}

}  // namespace

bool takes_gated_weights(const Runtime& use, const WeightPlan& plan) {
  return fits_one_row(use, plan) || prefers_few_rows(use, plan) || fits_batch(use, plan) || fits_hopper(use, plan);
}

void round_rows(Device device, const WeightPlan& plan, void* out) {
  const bool half = plan.dtype == DType::kF16;
  const auto round_with = [&](auto* kernel) {
    const dim3 grid(static_cast<unsigned>(plan.m), plan.norm_weight ? 1 : blocks_for(plan.k / 4));
    launch_dependent(device, "matmul", kernel, grid, kThreads, 0, plan, static_cast<uint32_t*>(out));
  };
  if (plan.x_dtype == DType::kF32) {
    half ? round_with(round_rows_kernel<__half, float>) : round_with(round_rows_kernel<__nv_bfloat16, float>);
  } else {
    half ? round_with(round_rows_kernel<__half, __half>) : round_with(round_rows_kernel<__nv_bfloat16, __nv_bfloat16>);
  }
}

void multiply_weights(Device device, const WeightPlan& plan) {
  const bool changes = plan.norm_weight || plan.up;
  // Several rows are normed side by side, one could as well be by everybody who needs it.
  const Runtime& use = runtime(device);
  if (fits_one_row(use, plan)) return multiply_one_row(device, plan);
  if (prefers_few_rows(use, plan) && (plan.m == 1 || !changes)) return multiply_few_rows(device, plan);
  const bool as_is = !changes && plan.x_dtype == plan.dtype && aligned(plan.x, 16);
  if (as_is) return multiply_rounded(device, plan);
  // The tensor cores take both sides in one dtype.
  const Scratch rounded(device, static_cast<size_t>(plan.m * plan.k * 2));
  round_rows(device, plan, rounded.as<void>());
  WeightPlan same = plan;
  same.x = rounded.as<void>();
  same.x_dtype = plan.dtype;
  same.norm_weight = same.up = nullptr;
  multiply_rounded(device, same);
}

void matmul(const Tensor& a, const Tensor& b, const Tensor& out) {
  if (out.numel() == 0) return;
  if (!are_weights(a, b, out)) return multiply_plain(a, b, out);
  const int64_t k = a.dim(-1);
  WeightPlan plan;
  plan.m = out.numel() / out.dim(-1);
  plan.k = k;
  plan.x_dtype = a.dtype();
  plan.dtype = b.dtype();
  plan.out_dtype = out.dtype();
  plan.ld = b.strides()[static_cast<size_t>(b.rank() - 1)];
  plan.jobs[0] = {b.raw(), out.dim(-1), out.raw(), nullptr, nullptr};
  if (a.is_contiguous() && aligned(a.raw(), 16)) {
    plan.x = a.raw();
    return multiply_weights(a.device(), plan);
  }
  const Scratch rows(a.device(), static_cast<size_t>(bytes_of(a.dtype(), a.numel())));
  const Strides dense = Layout::contiguous(a.shape()).strides;
  const auto* from = a.raw();
  auto* target = rows.as<std::byte>();
  const int64_t size = size_of(a.dtype());
  for_each_element<2>(a.device(), "matmul", a.shape(), {a.strides(), dense}, [=] __device__(const int64_t(&at)[2]) {
    if (size == 4) {
      reinterpret_cast<uint32_t*>(target)[at[1]] = reinterpret_cast<const uint32_t*>(from)[at[0]];
    } else {
      reinterpret_cast<uint16_t*>(target)[at[1]] = reinterpret_cast<const uint16_t*>(from)[at[0]];
    }
  });
  plan.x = target;
  multiply_weights(a.device(), plan);
}

}  // namespace wick::cuda
