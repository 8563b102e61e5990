#include <cstdio>
#include <cstdlib>

#include "backends/cuda/few_rows.cuh"
#include "backends/cuda/launch.cuh"
#include "backends/cuda/step_program.h"

namespace wick::cuda {
namespace {

// Blocks that share a multiprocessor; with experts the grid's second dimension has rows.
template <typename T, typename X, typename Experts, int kTokens, int kStages>
__global__ void __launch_bounds__(kThreads, kTokens == 1 && kStages < 6 ? 3 : 2)
    few_rows_kernel(const __grid_constant__ WeightPlan plan, const __grid_constant__ Experts experts, int tiles) {
  extern __shared__ __align__(128) char memory[];
  __shared__ typename InputRow<X, false>::Shared reduced;
  FewRows<T, X, Experts, kTokens, kStages> work;
  work.plan_tiles(plan, experts, tiles, static_cast<int>(blockIdx.x), static_cast<int>(gridDim.x),
                  static_cast<int>(blockIdx.y), memory);
  // Who lets the next kernel start when the one before has ended, lets it read what that one wrote.
  const bool late = !plan.steady;
  if (late) wait_for_previous();
  let_next_start();
  fetch_norm(plan);
  work.start_copies(plan, experts);
  if (!late) wait_for_previous();
  work.multiply(plan, experts, memory, reduced);
}

// How many blocks share a multiprocessor: with one row two, which leaves room for the next kernel's first blocks to
// fetch their weights.
struct Tuning {
  int stages = 3, blocks = 2;
};
Tuning tuning(const char* name) {
  Tuning tuning;
  if (const char* text = std::getenv(name)) std::sscanf(text, "%d,%d", &tuning.stages, &tuning.blocks);
  return tuning;
}

template <typename T, typename X, int kTokens, int kStages>
void launch(Device device, const WeightPlan& plan, int per_processor) {
  const Runtime& use = runtime(device);
  constexpr auto kKernel = few_rows_kernel<T, X, NoExperts, kTokens, kStages>;
  allow_shared<kKernel>(device, use.shared_bytes - 1024);
  const int64_t tiles = few_rows_tiles(plan);
  const auto blocks = static_cast<unsigned>(std::min<int64_t>(tiles, use.multiprocessors * per_processor));
  launch_dependent(device, "matmul", kKernel, blocks, kThreads, few_rows_bytes<kTokens, kStages>(plan.m, plan.k), plan,
                   NoExperts{}, static_cast<int>(tiles));
}

template <typename T, typename X>
void launch(Device device, const WeightPlan& plan) {
  static const Tuning tuned = tuning("WICK_TUNE");
  if (plan.m > 1) return launch<T, X, kMostFewTokens, 4>(device, plan, 2);
  switch (tuned.stages) {
    case 3: return launch<T, X, 1, 3>(device, plan, tuned.blocks);
    case 4: return launch<T, X, 1, 4>(device, plan, tuned.blocks);
    default: return launch<T, X, 1, 6>(device, plan, tuned.blocks);
  }
}

template <typename T, int kStages>
void launch_experts(Device device, const WeightPlan& plan, const ExpertTable& experts, int64_t tokens,
                    int per_processor) {
  const Runtime& use = runtime(device);
  constexpr auto kKernel = few_rows_kernel<T, float, ExpertTable, 1, kStages>;
  allow_shared<kKernel>(device, use.shared_bytes - 1024);
  const int64_t rows = experts.shares ? tokens : tokens * experts.chosen, each = experts.shares ? experts.chosen : 1;
  const int64_t tiles = few_rows_tiles(plan), room = use.multiprocessors * per_processor;
  const dim3 grid(static_cast<unsigned>(std::min(tiles, (room + rows - 1) / rows)), static_cast<unsigned>(rows));
  launch_dependent(device, "experts", kKernel, grid, kThreads, few_rows_bytes<1, kStages>(each, plan.k), plan, experts,
                   static_cast<int>(tiles));
}

template <typename T>
void launch_experts(Device device, const WeightPlan& plan, const ExpertTable& experts, int64_t tokens) {
  static const Tuning tuned = tuning("WICK_TUNE_EXPERTS");
  switch (tuned.stages) {
    case 3: return launch_experts<T, 3>(device, plan, experts, tokens, tuned.blocks);
    default: return launch_experts<T, 4>(device, plan, experts, tokens, tuned.blocks);
  }
}

constexpr size_t kMostShared = 160 * 1024;

}  // namespace

// With little room left, too few blocks share a multiprocessor to keep the memory busy.
bool fits_few_rows(const Runtime& use, const WeightPlan& plan) {
  int64_t most = 0;
  for (int i = 0; i < plan.count; ++i) most = std::max(most, plan.jobs[i].n);
  return most < int64_t{1} << 29 && plan.m <= kMostFewTokens && plan.k % 8 == 0 && aligned(plan.x, 16) &&
         few_rows_bytes<kMostFewTokens, 4>(plan.m, plan.k) <= std::min(static_cast<size_t>(use.shared_bytes), kMostShared);
}

void multiply_few_rows(Device device, const WeightPlan& plan) {
  if (StepProgram* steps = step_program(); steps && steps->add(plan)) return;
  const bool half = plan.dtype == DType::kF16;
  if (plan.x_dtype == DType::kF32) {
    half ? launch<__half, float>(device, plan) : launch<__nv_bfloat16, float>(device, plan);
  } else {
    half ? launch<__half, __half>(device, plan) : launch<__nv_bfloat16, __nv_bfloat16>(device, plan);
  }
}

bool fits_experts(const Runtime& use, const WeightPlan& plan, int64_t rows) {
  return fits_few_rows(use, plan) && few_rows_bytes<1, 4>(rows, plan.k) <= kMostShared;
}

void multiply_experts(Device device, const WeightPlan& plan, const ExpertTable& experts, int64_t tokens) {
  plan.dtype == DType::kF16 ? launch_experts<__half>(device, plan, experts, tokens)
                            : launch_experts<__nv_bfloat16>(device, plan, experts, tokens);
}

}  // namespace wick::cuda
