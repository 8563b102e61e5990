#include "backends/cuda/quant/packed_product.cuh"
#include "backends/cuda/runtime/kernels.h"

namespace wick::cuda {
namespace {

// What a format asks of the activations.
template <bool kBy32Of, int kSumsOf>
struct InputKind {
  static constexpr bool kBy32 = kBy32Of;
  static constexpr int kSums = kSumsOf;
};
template <typename Format>
using InputKindOf = InputKind<Format::kBy32, Format::kSums>;

// A row for each block; scales of its super-blocks are `super_block_step` apart, those of rows `row_step`. kUp: the
// plan has an activation, whose many instructions others need not fetch.
template <typename Kind, typename X, Order kOrder, bool kUp>
__global__ void __launch_bounds__(kThreads)
    pack_rows_kernel(const __grid_constant__ WeightPlan plan, char* codes, InputScalesOf<Kind>* scales,
                     int64_t row_step, int64_t super_block_step) {
  __shared__ typename InputRow<X, false, kUp>::Shared reduced;
  constexpr int kCodeBytes = kOrder == Order::kHalves ? 2 : 1;
  const int64_t at = blockIdx.x;
  launch_dependents();
  wait_for_prerequisites();
  codes += at * packed_columns(plan.k) * kCodeBytes;
  scales += at * row_step;
  const InputRow<X, false, kUp> row(plan, at, reduced);
  pack_row<Kind, kOrder>(
      row, super_blocks_of(plan.k), [&](int super_block) { return codes + super_block * kSuperBlock * kCodeBytes; },
      [&](int super_block) { return scales + super_block * super_block_step; });
}

template <typename Kind, typename X, Order kOrder>
void pack_rows(Device device, const WeightPlan& plan, char* codes, void* scales, int64_t row_step,
               int64_t super_block_step) {
  const auto launch = [&](auto* kernel) {
    launch_dependent(device, "matmul", kernel, static_cast<unsigned>(plan.m), kThreads, 0, plan, codes,
                     static_cast<InputScalesOf<Kind>*>(scales), row_step, super_block_step);
  };
  plan.up ? launch(pack_rows_kernel<Kind, X, kOrder, true>) : launch(pack_rows_kernel<Kind, X, kOrder, false>);
}

struct RowBytes {
  int64_t codes = 0, scales = 0;
};
RowBytes row_bytes(const WeightPlan& plan, bool for_planes) {
  RowBytes bytes;
  visit_codes(plan.dtype, [&](auto block) {
    using Format = Codes<decltype(block)>;
    bytes.codes = packed_columns(plan.k) * (for_planes && Format::kBy32 ? 2 : 1);
    bytes.scales = super_blocks_of(plan.k) * int64_t{sizeof(InputScalesOf<Format>)};
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

ReadyRows::ReadyRows(Device device, const WeightPlan& plan)
    : code_bytes_(row_bytes(plan, false).codes),
      scale_bytes_(row_bytes(plan, false).scales),
      codes_(device, static_cast<size_t>(plan.m * code_bytes_)),
      scales_(device, static_cast<size_t>(plan.m * scale_bytes_)) {
  visit_codes(plan.dtype, [&](auto block) {
    using Format = Codes<decltype(block)>;
    visit_input(plan.x_dtype, [&](auto x) {
      pack_rows<InputKindOf<Format>, decltype(x), Format::kOrder>(device, plan, codes_.as<char>(), scales_.as<void>(),
                                                                  super_blocks_of(plan.k), 1);
    });
  });
}

PlaneRows::PlaneRows(Device device, const WeightPlan& plan, int64_t padded_rows)
    : codes(device, static_cast<size_t>(plan.m * row_bytes(plan, true).codes)),
      scales(device, static_cast<size_t>(padded_rows * row_bytes(plan, true).scales)) {
  visit_codes(plan.dtype, [&](auto block) {
    using Format = Codes<decltype(block)>;
    constexpr Order kOrder = Format::kBy32 ? Order::kHalves : Order::kPlain;
    visit_input(plan.x_dtype, [&](auto x) {
      pack_rows<InputKindOf<Format>, decltype(x), kOrder>(device, plan, codes.as<char>(), scales.as<void>(), 1,
                                                          padded_rows);
    });
  });
}

bool takes_gated(const Runtime& use, const WeightPlan& plan) {
  if (is_packed(plan.dtype)) {
    const bool so_many = plan.m <= kMostGatedRows || (use.hopper && plan.m > kMostTeamRows);
    return so_many && fits_packed(use, plan);
  }
  return takes_gated_weights(use, plan);
}

bool runs_beside(const Runtime& use, const WeightPlan& plan) {
  return is_packed(plan.dtype) && fits_packed(use, plan) &&
         (fits_packed_row(use, plan) || fits_packed_stream(use, plan));
}

void multiply_packed(Device device, const WeightPlan& given) {
  const Runtime& use = runtime(device);
  if (!fits_packed(use, given)) return multiply_unpacked(device, given);
  WeightPlan plan = given;
  plan.codebook = codebook_of(device, plan.dtype);
  if (fits_packed_row(use, plan)) return multiply_packed_row(device, plan);
  if (fits_packed_stream(use, plan)) return multiply_packed_stream(device, plan);
  if (use.hopper && plan.m > kMostTeamRows) return multiply_packed_hopper(device, plan);
  if (plan.gated || has_room_for_packed_rows(use, plan, plan.m)) return multiply_packed_rows(device, plan);
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
