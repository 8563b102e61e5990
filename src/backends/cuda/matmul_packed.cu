#include "backends/cuda/kernels.h"
#include "backends/cuda/packed_product.cuh"

namespace wick::cuda {
namespace {

// A row for each block. kUp: the plan has an activation, whose many instructions others need not fetch.
template <typename Block, typename X, Order kOrder, bool kUp>
__global__ void __launch_bounds__(kThreads)
    pack_rows_kernel(const __grid_constant__ WeightPlan plan, char* codes, InputScalesOf<Codes<Block>>* scales) {
  __shared__ typename InputRow<X, false, kUp>::Shared reduced;
  const int64_t at = blockIdx.x, padded = packed_columns(plan.k);
  let_next_start();
  wait_for_previous();
  codes += at * padded;
  scales += at * (padded / kSuper);
  const InputRow<X, false, kUp> row(plan, at, reduced);
  pack_row<Codes<Block>, kOrder>(
      row, supers_of(plan.k), [&](int super) { return codes + super * kSuper; },
      [&](int super) { return scales + super; });
}

int64_t scales_bytes(const WeightPlan& plan) {
  int64_t bytes = 0;
  visit_codes(plan, [&](auto block, auto) {
    bytes = supers_of(plan.k) * int64_t{sizeof(InputScalesOf<Codes<decltype(block)>>)};
  });
  return bytes;
}

// Whether kernels read the blocks as they are.
bool fits_packed(const Runtime& use, const WeightPlan& plan) {
  bool known = false, whole = plan.ld % 16 == 0, small = plan.k < int64_t{1} << 20;
  for (int i = 0; i < plan.count; ++i) {
    whole &= aligned(plan.jobs[i].weights, 16);
    small &= plan.jobs[i].n < int64_t{1} << 29;
  }
  visit_packed(plan.dtype, [&](auto block) {
    using Format = Codes<decltype(block)>;
    if constexpr (Format::kKnown) known = whole || !Format::kWhole;
  });
  const auto x_bytes = static_cast<size_t>(size_of(plan.x_dtype));
  return known && small && aligned(plan.x, 4 * x_bytes) && plan.k % 4 == 0 && has_room_for_packed_rows(use, plan, 1);
}

constexpr int64_t kMostGatedRows = 16;

}  // namespace

ReadyRows::ReadyRows(Device device, const WeightPlan& plan, bool in_order)
    : code_bytes_(packed_columns(plan.k)),
      scale_bytes_(scales_bytes(plan)),
      codes_(device, static_cast<size_t>(plan.m * code_bytes_)),
      scales_(device, static_cast<size_t>(plan.m * scale_bytes_)) {
  visit_codes(plan, [&](auto block, auto x) {
    using Block = decltype(block);
    const auto launch = [&](auto* kernel) {
      launch_dependent(device, "matmul", kernel, static_cast<unsigned>(plan.m), kThreads, 0, plan, codes_.as<char>(),
                       scales_.as<InputScalesOf<Codes<Block>>>());
    };
    const auto in = [&]<Order kOrder>() {
      plan.up ? launch(pack_rows_kernel<Block, decltype(x), kOrder, true>)
              : launch(pack_rows_kernel<Block, decltype(x), kOrder, false>);
    };
    in_order ? in.template operator()<Order::kPlain>() : in.template operator()<Codes<Block>::kOrder>();
  });
}

bool takes_gated(const Runtime& use, const WeightPlan& plan) {
  if (is_packed(plan.dtype)) return plan.m <= kMostGatedRows && fits_packed(use, plan);
  return takes_gated_weights(use, plan);
}

void multiply_packed(Device device, const WeightPlan& plan) {
  const Runtime& use = runtime(device);
  if (!fits_packed(use, plan)) return multiply_unpacked(device, plan);
  if (fits_packed_stream(use, plan)) return multiply_packed_stream(device, plan);
  if (plan.gated || has_room_for_packed_rows(use, plan, plan.m)) return multiply_packed_rows(device, plan);
  if (use.hopper && plan.m > kMostTeamRows) return multiply_packed_hopper(device, plan);
  multiply_packed_tiles(device, plan);
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
