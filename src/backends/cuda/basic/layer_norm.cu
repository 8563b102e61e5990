#include "backends/cuda/gemm/input_rows.cuh"
#include "backends/cuda/runtime/kernels.h"
#include "backends/cuda/runtime/launch.cuh"

namespace wick::cuda {
namespace {

// A vector of any float dtype; null: none.
struct Vector {
  const void* data = nullptr;
  int64_t step = 0;
  DType dtype = DType::kF32;

  template <typename W>
  __device__ __forceinline__ W get(int64_t i) const {
    switch (dtype) {
      case DType::kF64: return static_cast<W>(static_cast<const double*>(data)[i * step]);
      case DType::kF16: return static_cast<W>(widen(static_cast<const __half*>(data)[i * step]));
      case DType::kBF16: return static_cast<W>(widen(static_cast<const __nv_bfloat16*>(data)[i * step]));
      default: return static_cast<W>(static_cast<const float*>(data)[i * step]);
    }
  }
};

Vector make_vector(const Tensor& x) { return x.defined() ? Vector{x.raw(), x.strides()[0], x.dtype()} : Vector(); }

template <typename W>
__device__ __forceinline__ W add(W a, W b) {
  return a + b;
}

// A block per row. kLayer: around the mean and with a bias; else the root mean square.
template <typename T, bool kLayer>
__global__ void norm_kernel(const T* x, Lines<2> lines, Vector weight, Vector bias, float eps, T* out) {
  using W = Sum<T>;
  __shared__ W shared[32];
  const W size = static_cast<W>(lines.size);
  for (int64_t line = blockIdx.x; line < lines.walk.total; line += gridDim.x) {
    int64_t at[2];
    lines.walk.offsets(line, at);
    const T* from = x + at[0];
    T* target = out + at[1];
    W mean = 0, square = 0;
    if constexpr (kLayer) {
      // Around the first value, so that of rows far from zero, or of one value, no rounding is left.
      const W base = lines.size > 0 ? W(widen(from[0])) : W(0);
      for (int64_t i = threadIdx.x; i < lines.size; i += blockDim.x) mean += widen(from[i * lines.steps[0]]) - base;
      mean = base + block_combine(mean, shared, W(0), add<W>) / size;
    }
    for (int64_t i = threadIdx.x; i < lines.size; i += blockDim.x) {
      const W value = widen(from[i * lines.steps[0]]) - mean;
      square += value * value;
    }
    square = block_combine(square, shared, W(0), add<W>);
    const W variance = square / size + static_cast<W>(eps);
    const W inverse = kLayer ? W(1) / sqrt(variance) : rsqrt(variance);  // the latter as turn_head does
    for (int64_t i = threadIdx.x; i < lines.size; i += blockDim.x) {
      W value = (widen(from[i * lines.steps[0]]) - mean) * inverse;
      if (weight.data) value *= weight.get<W>(i);
      if (kLayer && bias.data) value += bias.get<W>(i);
      target[i * lines.steps[1]] = to<T>(value);
    }
  }
}

// Rows of a matrix as products norm them while they read them, to the same bits.
__global__ void __launch_bounds__(kThreads) norm_rows_kernel(const __grid_constant__ WeightPlan plan, float* out) {
  __shared__ InputRow<float, false, false>::Shared reduced;
  const InputRow<float, false, false> row(plan, blockIdx.x, reduced);
  row.each([&](int64_t i, float4 four) { *reinterpret_cast<float4*>(out + blockIdx.x * plan.k + i) = four; });
}

bool is_input_of_products(const Tensor& x, const Tensor& weight, const Tensor& out) {
  return x.dtype() == DType::kF32 && x.rank() == 2 && x.is_contiguous() && out.is_contiguous() && weight.defined() &&
         weight.dtype() == DType::kF32 && weight.strides()[0] == 1 && x.dim(1) % 4 == 0 &&
         x.dim(1) < int64_t{1} << 30 && aligned(x.raw(), 16) && aligned(out.raw(), 16) && aligned(weight.raw(), 16);
}

template <bool kLayer>
void run(const Tensor& x, const Tensor& weight, const Tensor& bias, float eps, const Tensor& out) {
  if (x.numel() == 0) return;
  const Runtime& use = runtime(x.device());
  const auto lines = make_lines<2>(x.shape(), {x.strides(), out.strides()}, x.rank() - 1);
  const int threads = lines.size <= 256 ? 32 : lines.size <= 2048 ? 256 : 512;
  visit_float(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    norm_kernel<T, kLayer><<<blocks_for(lines.walk.total, 1), threads, 0, use.stream>>>(
        data_of<const T>(x), lines, make_vector(weight), make_vector(bias), eps, data_of<T>(out));
  });
  check_launch(x.device(), kLayer ? "layer_norm" : "rms_norm");
}

}  // namespace

void layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, float eps, const Tensor& out) {
  run<true>(x, weight, bias, eps, out);
}

void rms_norm(const Tensor& x, const Tensor& weight, float eps, const Tensor& out) {
  if (x.numel() == 0 || !is_input_of_products(x, weight, out)) return run<false>(x, weight, {}, eps, out);
  WeightPlan plan;
  plan.m = x.dim(0);
  plan.k = x.dim(1);
  plan.x = x.raw();
  plan.norm_weight = data_of<const float>(weight);
  plan.eps = eps;
  norm_rows_kernel<<<static_cast<unsigned>(plan.m), kThreads, 0, runtime(x.device()).stream>>>(plan,
                                                                                               data_of<float>(out));
  check_launch(x.device(), "rms_norm");
}

}  // namespace wick::cuda
