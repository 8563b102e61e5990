#include "backends/cuda/runtime/kernels.h"
#include "backends/cuda/runtime/launch.cuh"

namespace wick::cuda {
namespace {

template <typename W>
struct Best {
  W value;
  int64_t index;  // below 0: none
};

// NaN wins over everything, then the better value, then the lower index.
template <typename W>
__device__ Best<W> better(ArgReduceOp op, Best<W> a, Best<W> b) {
  if (a.index < 0 || b.index < 0) return a.index < 0 ? b : a;
  const bool nan_a = a.value != a.value, nan_b = b.value != b.value;
  if (nan_a != nan_b) return nan_a ? a : b;
  if (!nan_a && a.value != b.value) return (op == ArgReduceOp::kArgMax) == (a.value > b.value) ? a : b;
  return a.index < b.index ? a : b;
}

template <typename T>
__global__ void arg_reduce_kernel(ArgReduceOp op, const T* x, Lines<2> lines, int64_t* out) {
  using W = Wide<T>;
  __shared__ Best<W> shared[32];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int64_t line = blockIdx.x; line < lines.walk.total; line += gridDim.x) {
    int64_t at[2];
    lines.walk.offsets(line, at);
    Best<W> best{W(0), -1};
    for (int64_t i = threadIdx.x; i < lines.size; i += blockDim.x) {
      best = better(op, best, Best<W>{widen(x[at[0] + i * lines.steps[0]]), i});
    }
    const auto combine_lanes = [&] {
      for (int step = 16; step; step /= 2) {
        const Best<W> other{__shfl_xor_sync(0xffffffffu, best.value, step),
                            __shfl_xor_sync(0xffffffffu, best.index, step)};
        best = better(op, best, other);
      }
    };
    combine_lanes();
    __syncthreads();
    if (lane == 0) shared[warp] = best;
    __syncthreads();
    if (warp == 0) {
      best = lane < static_cast<int>(blockDim.x / 32) ? shared[lane] : Best<W>{W(0), -1};
      combine_lanes();
      if (lane == 0) out[at[1]] = best.index;
    }
  }
}

}  // namespace

void arg_reduce(ArgReduceOp op, const Tensor& x, int dim, const Tensor& out) {
  if (out.numel() == 0 || x.numel() == 0) return;
  const Runtime& use = runtime(x.device());
  Strides out_strides = out.strides();
  if (out.rank() == x.rank()) out_strides[static_cast<size_t>(dim)] = 0;
  const auto lines = make_lines<2>(x.shape(), {x.strides(), out_strides}, dim);
  visit_device_dtype(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    arg_reduce_kernel<T><<<blocks_for(lines.walk.total, 1), lines.size <= 1024 ? 128 : 1024, 0, use.stream>>>(
        op, data_of<const T>(x), lines, data_of<int64_t>(out));
  });
  check_launch(x.device(), "arg_reduce");
}

}  // namespace wick::cuda
