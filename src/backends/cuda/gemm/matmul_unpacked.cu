#include "backends/cuda/quant/dequantize.h"
#include "backends/cuda/quant/packed_product.cuh"

// Formats that no kernel reads as they are: the weights in f16, once for all rows of x. Each row of x is multiplied by
// a power of two that brings its largest magnitude to 2^11 or below, so that f16 holds it whatever its range; the
// result is multiplied back.
namespace wick::cuda {
namespace {

// 2^e with largest * 2^e in [2^10, 2^11); 1 for zeros and for what is not finite.
__device__ __forceinline__ float row_factor(float largest) {
  constexpr int kTopExponent = 11;
  if (!(largest > 0) || largest > 3.0e38f) return 1;
  const int exponent = ilogbf(largest);
  return exp2f(static_cast<float>(min(max(kTopExponent - 1 - exponent, -126), 126)));
}

// A row for each block: out [m, ld], zeros behind k, and 1 / factor of each.
template <typename X>
__global__ void __launch_bounds__(kThreads)
    scale_rows_kernel(const __grid_constant__ WeightPlan plan, int64_t ld, __half* out, float* inverses) {
  __shared__ typename InputRow<X, true>::Shared reduced;
  __shared__ float several[32];
  const int64_t k = plan.k, at = blockIdx.x;
  launch_dependents();
  wait_for_prerequisites();
  __half* to = out + at * ld;
  float factor;
  if (k % 4 == 0) {
    const InputRow<X, true> row(plan, at, reduced);
    factor = row_factor(row.most());
    row.each([&](int i, float4 four) {
      *reinterpret_cast<uint2*>(to + i) = {round_pair<__half>(four.x * factor, four.y * factor),
                                           round_pair<__half>(four.z * factor, four.w * factor)};
    });
    for (int64_t i = k + threadIdx.x; i < ld; i += kThreads) to[i] = __float2half_rn(0);
  } else {
    const X* x = static_cast<const X*>(plan.x) + at * k;
    const auto one = [&](int64_t j) { return j < k ? static_cast<float>(widen(x[j])) : 0.0f; };
    float most = 0;
    for (int64_t i = threadIdx.x; i < k; i += kThreads) most = fmaxf(most, fabsf(one(i)));
    factor = row_factor(block_combine(most, several, 0.0f, [](float a, float b) { return fmaxf(a, b); }));
    for (int64_t i = threadIdx.x; i < ld; i += kThreads) to[i] = __float2half_rn(one(i) * factor);
  }
  if (threadIdx.x == 0) inverses[at] = 1 / factor;
}

__global__ void __launch_bounds__(kThreads) scale_back_kernel(const __grid_constant__ WeightJob job, DType dtype,
                                                              int64_t m, const float* sums, const float* factors) {
  const int64_t column = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (column >= job.n) return;
  for (int64_t row = blockIdx.y; row < m; row += gridDim.y) {
    store_product(dtype, job, row, column, __fmul_rn(sums[row * job.n + column], factors[row]));
  }
}

template <typename X>
void multiply(Device device, const WeightPlan& plan) {
  const Runtime& use = runtime(device);
  const int64_t m = plan.m, k = plan.k, ld = packed_columns(k);
  const Scratch rows(device, static_cast<size_t>(m * ld * 2)), inverses(device, static_cast<size_t>(m) * sizeof(float));
  launch_dependent(device, "matmul", scale_rows_kernel<X>, static_cast<unsigned>(m), kThreads, 0, plan, ld,
                   rows.as<__half>(), inverses.as<float>());
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
    scale_back_kernel<<<grid, kThreads, 0, use.stream>>>(job, plan.x_dtype, m, sums.as<const float>(), factors);
    check_launch(device, "matmul");
  }
}

}  // namespace

void multiply_unpacked(Device device, const WeightPlan& plan) {
  if (plan.x_dtype == DType::kF32) return multiply<float>(device, plan);
  plan.x_dtype == DType::kF16 ? multiply<__half>(device, plan) : multiply<__nv_bfloat16>(device, plan);
}

}  // namespace wick::cuda
