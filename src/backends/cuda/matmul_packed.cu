#include "backends/cuda/dependent_launch.cuh"
#include "backends/cuda/dequantize.h"
#include "backends/cuda/input_rows.cuh"
#include "backends/cuda/kernels.h"
#include "backends/cuda/packed_plan.cuh"

namespace wick::cuda {
namespace {

// A row for each block; where shared memory has room for it, it is put in order there.
template <typename X>
__global__ void __launch_bounds__(kThreads)
    scale_rows_kernel(const __grid_constant__ WeightPlan plan, Order order, bool by_lanes, bool in_shared, int64_t ld,
                      __half* out, float* inverses) {
  extern __shared__ __align__(16) char memory[];
  __shared__ typename InputRow<X, true>::Shared reduced;
  __shared__ float several[32];
  const int64_t k = plan.k, at = blockIdx.x;
  let_next_start();
  wait_for_previous();
  char* target = in_shared ? memory : reinterpret_cast<char*>(out + at * ld);
  const auto put = [&](int64_t i, float4 four, float factor) {
    const uint2 both = ordered(four, factor);
    const auto column = static_cast<int>(i);
    if (by_lanes) {
      *reinterpret_cast<uint2*>(target + fragment_byte(order, column)) = both;
    } else {
      const int place = place_in(order, column);
      auto* step = reinterpret_cast<uint32_t*>(target) + place / 4 * 8 + place % 4;
      step[0] = both.x;
      step[4] = both.y;
    }
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
  if (!in_shared) return;
  __syncthreads();
  auto* row = reinterpret_cast<uint4*>(out + at * ld);
  for (int64_t i = threadIdx.x; i < ld / 8; i += kThreads) row[i] = reinterpret_cast<const uint4*>(memory)[i];
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

Order order_of(DType dtype) {
  Order order = Order::kPlain;
  visit_packed(dtype, [&](auto block) { order = Fragments<decltype(block)>::kOrder; });
  return order;
}

// Many rows, and formats without a kernel of their own: the weights in f16 once for all rows.
template <typename X>
void multiply_unpacked(Device device, const WeightPlan& plan) {
  const Runtime& use = runtime(device);
  const int64_t m = plan.m, k = plan.k, ld = packed_columns(k);
  const Scratch rows(device, static_cast<size_t>(m * ld * 2)), inverses(device, static_cast<size_t>(m) * sizeof(float));
  scale_rows(device, plan, order_of(plan.dtype), false, ld, rows.as<__half>(), inverses.as<float>());
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

// Whether kernels read the blocks as they are.
bool fits_packed(const Runtime& use, const WeightPlan& plan) {
  bool known = false, whole = plan.ld % 16 == 0, small = plan.k < int64_t{1} << 24;
  for (int i = 0; i < plan.count; ++i) {
    whole &= aligned(plan.jobs[i].weights, 16);
    small &= plan.jobs[i].n < int64_t{1} << 29;
  }
  visit_packed(plan.dtype, [&](auto block) {
    using Format = Fragments<decltype(block)>;
    if constexpr (Format::kKnown) known = whole || !Format::kWhole;
  });
  const auto x_bytes = static_cast<size_t>(size_of(plan.x_dtype));
  return known && small && aligned(plan.x, 4 * x_bytes) && plan.k % 4 == 0 && has_room_for_packed_rows(use, plan, 1);
}

constexpr int64_t kFewRows = 16, kTileRows = 64;

}  // namespace

void scale_rows(Device device, const WeightPlan& plan, Order order, bool by_lanes, int64_t ld, __half* out,
                float* inverses) {
  constexpr int64_t kMostShared = 40 * 1024;  // that a block may have without asking
  const bool in_shared = ld * 2 <= kMostShared;
  const auto with = [&](auto* kernel) {
    launch_dependent(device, "matmul", kernel, static_cast<unsigned>(plan.m), kThreads,
                     in_shared ? static_cast<size_t>(ld * 2) : 0, plan, order, by_lanes, in_shared, ld, out, inverses);
  };
  if (plan.x_dtype == DType::kF32) return with(scale_rows_kernel<float>);
  plan.x_dtype == DType::kF16 ? with(scale_rows_kernel<__half>) : with(scale_rows_kernel<__nv_bfloat16>);
}

bool takes_gated(const Runtime& use, const WeightPlan& plan) {
  if (is_packed(plan.dtype)) return plan.m <= kFewRows && fits_packed(use, plan);
  return takes_gated_weights(use, plan);
}

void multiply_packed(Device device, const WeightPlan& plan) {
  const Runtime& use = runtime(device);
  if (fits_packed(use, plan)) {
    if (fits_packed_stream(use, plan)) return multiply_packed_stream(device, plan);
    const bool tiles = use.hopper && plan.m <= kTileRows && !plan.gated;
    if (has_room_for_packed_rows(use, plan, plan.m) || (plan.m <= kFewRows && !tiles)) {
      return multiply_packed_rows(device, plan);
    }
    if (tiles) return multiply_packed_tiles(device, plan);
  }
  if (plan.x_dtype == DType::kF32) return multiply_unpacked<float>(device, plan);
  plan.x_dtype == DType::kF16 ? multiply_unpacked<__half>(device, plan)
                              : multiply_unpacked<__nv_bfloat16>(device, plan);
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
