#include "backends/cuda/runtime/kernels.h"
#include "backends/cuda/runtime/launch.cuh"

namespace wick::cuda {
namespace {

// x split into what stays (one result each) and what is reduced.
struct Plan {
  Walk<1> kept, reduced;
};

Plan make_plan(const Tensor& x, const Tensor& out) {
  Shape kept = x.shape(), reduced = x.shape();
  for (int d = 0; d < x.rank(); ++d) (out.dim(d) == 1 ? kept : reduced) = (out.dim(d) == 1 ? kept : reduced).with(d, 1);
  return {make_walk<1>(kept, {x.strides()}), make_walk<1>(reduced, {x.strides()})};
}

template <typename Total>
struct Combine {
  ReduceOp op;
  __device__ Total operator()(Total a, Total b) const {
    switch (op) {
      case ReduceOp::kSum:
      case ReduceOp::kMean: return a + b;
      case ReduceOp::kMax: return a != a || a > b ? a : b;
      case ReduceOp::kMin: return a != a || a < b ? a : b;
    }
    return a;
  }
};

// A block (or, for few values, a warp) reduces to one result. Sums of floats add up in f64.
template <typename T, typename Result>
__global__ void reduce_kernel(ReduceOp op, const T* x, Plan plan, Result* out) {
  using Total = std::conditional_t<kIsFloat<T>, double, int64_t>;
  __shared__ Total shared[32];
  const Combine<Total> combine{op};
  for (int64_t result = blockIdx.x; result < plan.kept.total; result += gridDim.x) {
    int64_t base[1], at[1];
    plan.kept.offsets(result, base);
    const bool sums = op == ReduceOp::kSum || op == ReduceOp::kMean;
    // A maximum starts from a value that is there.
    Total total = sums ? Total(0) : static_cast<Total>(widen(x[base[0]]));
    for (int64_t i = threadIdx.x; i < plan.reduced.total; i += blockDim.x) {
      plan.reduced.offsets(i, at);
      total = combine(total, static_cast<Total>(widen(x[base[0] + at[0]])));
    }
    const Total neutral = sums ? Total(0) : total;
    total = block_combine(total, shared, neutral, combine);
    if (threadIdx.x == 0) {
      if (op == ReduceOp::kMean) {
        out[result] = to<Result>(static_cast<double>(total) / static_cast<double>(plan.reduced.total));
      } else {
        out[result] = to<Result>(total);
      }
    }
  }
}

// The variance around the mean, in two passes.
template <typename T>
__global__ void variance_kernel(const T* x, Plan plan, int64_t correction, T* out) {
  __shared__ double shared[32];
  const auto add = [](double a, double b) { return a + b; };
  for (int64_t result = blockIdx.x; result < plan.kept.total; result += gridDim.x) {
    int64_t base[1], at[1];
    plan.kept.offsets(result, base);
    double total = 0, squares = 0;
    for (int64_t i = threadIdx.x; i < plan.reduced.total; i += blockDim.x) {
      plan.reduced.offsets(i, at);
      total += static_cast<double>(widen(x[base[0] + at[0]]));
    }
    const double mean = block_combine(total, shared, 0.0, add) / static_cast<double>(plan.reduced.total);
    for (int64_t i = threadIdx.x; i < plan.reduced.total; i += blockDim.x) {
      plan.reduced.offsets(i, at);
      const double distance = static_cast<double>(widen(x[base[0] + at[0]])) - mean;
      squares += distance * distance;
    }
    squares = block_combine(squares, shared, 0.0, add);
    if (threadIdx.x == 0) out[result] = to<T>(squares / static_cast<double>(plan.reduced.total - correction));
  }
}

int threads_for(int64_t count) { return count <= 64 ? 32 : count <= 4096 ? 256 : 1024; }

}  // namespace

void reduce(ReduceOp op, const Tensor& x, const Tensor& out) {
  if (out.numel() == 0) return;
  const Runtime& use = runtime(x.device());
  const Plan plan = make_plan(x, out);
  visit_device_dtype(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto launch = [&](auto result) {
      using Result = decltype(result);
      reduce_kernel<T, Result><<<blocks_for(plan.kept.total, 1), threads_for(plan.reduced.total), 0, use.stream>>>(
          op, data_of<const T>(x), plan, data_of<Result>(out));
    };
    if constexpr (std::is_integral_v<T>) {
      if (op == ReduceOp::kSum) return launch(int64_t{});
      if (op == ReduceOp::kMean) return launch(double{});
    }
    launch(T{});
  });
  check_launch(x.device(), "reduce");
}

void variance(const Tensor& x, int64_t correction, const Tensor& out) {
  if (out.numel() == 0) return;
  const Runtime& use = runtime(x.device());
  const Plan plan = make_plan(x, out);
  visit_float(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    variance_kernel<T><<<blocks_for(plan.kept.total, 1), threads_for(plan.reduced.total), 0, use.stream>>>(
        data_of<const T>(x), plan, correction, data_of<T>(out));
  });
  check_launch(x.device(), "variance");
}

}  // namespace wick::cuda
