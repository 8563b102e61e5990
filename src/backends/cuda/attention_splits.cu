#include "backends/cuda/attention_split.cuh"
#include "backends/cuda/step_program.h"

namespace wick::cuda {
namespace {

template <typename T, int kDim, bool kTurns>
__global__ void __launch_bounds__(kSplitWarps * 32) splits_kernel(const __grid_constant__ AttentionPlan plan) {
  extern __shared__ __align__(128) char memory[];
  __shared__ bool is_last;
  let_next_start();
  attend_split<T, kDim, kTurns, WholeBlock>(plan, static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y),
                                            static_cast<int>(blockIdx.z), memory, is_last, wait_for_previous);
}

int64_t tile_count(const AttentionPlan& plan) {
  return int64_t{plan.row_count} * plan.group / kRows + plan.rows.sequences;
}

template <typename T, int kDim>
void launch(Device device, AttentionPlan plan) {
  // With one split there is nothing to merge.
  const size_t floats = plan.splits == 1 ? 0
                                         : static_cast<size_t>(plan.row_count) *
                                               static_cast<size_t>(plan.heads * plan.splits) * (kDim + 2);
  const Scratch partial(device, floats * sizeof(float));
  plan.partial = partial.as<float>();
  StepProgram* steps = step_program();
  if (steps && steps->add(plan, std::is_same_v<T, __half> ? DType::kF16 : DType::kBF16)) return;
  const auto run = [&]<bool kTurns>(std::bool_constant<kTurns>) {
    allow_shared<splits_kernel<T, kDim, kTurns>>(device, SplitMemory<kDim>::kBytes);
    const dim3 grid(static_cast<unsigned>(tile_count(plan)), static_cast<unsigned>(plan.pool.kv_heads),
                    static_cast<unsigned>(plan.splits));
    launch_dependent(device, "paged_attention", splits_kernel<T, kDim, kTurns>, grid, kSplitWarps * 32,
                     SplitMemory<kDim>::kBytes, plan);
  };
  plan.key ? run(std::true_type()) : run(std::false_type());
}

}  // namespace

bool fits_splits(Device device, const AttentionPlan& plan, int splits) {
  return tile_count(plan) * plan.pool.kv_heads <= facts(device).counter_count && splits <= 65535;
}

void attend_in_splits(Device device, AttentionPlan plan, bool half) {
  plan.arrived = facts(device).counters;
  const bool narrow = plan.pool.dim == 64;
  if (half) return narrow ? launch<__half, 64>(device, plan) : launch<__half, 128>(device, plan);
  narrow ? launch<__nv_bfloat16, 64>(device, plan) : launch<__nv_bfloat16, 128>(device, plan);
}

}  // namespace wick::cuda
