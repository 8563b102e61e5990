// Paged attention of a few rows of one sequence: tiles of keys pass by, softmax is kept up to date as they come.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/attention/paged_rows.cpp"
#include "hwy/foreach_target.h"
// After foreach_target: compiled once per target.
#include "backends/cpu/attention/paged_kernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick::HWY_NAMESPACE {

// Adds the next split of a row to those before it.
HWY_INLINE void JoinSplit(const PagedSums& next, const PagedSums& to, int64_t row, int64_t stride) {
  const hn::ScalableTag<float> d;
  constexpr float kNothing = -std::numeric_limits<float>::infinity();
  if (next.most[row] == kNothing && next.total[row] == 0) return;
  if (to.most[row] == kNothing && to.total[row] == 0) {
    std::copy_n(next.sums + row * stride, stride, to.sums + row * stride);
    to.most[row] = next.most[row];
    to.total[row] = next.total[row];
    return;
  }
  const float most = std::max(to.most[row], next.most[row]), base = most == kNothing ? 0.0f : most;
  const float keep = hn::GetLane(ExpNegative(d, hn::Set(d, to.most[row] - base)));
  const float join = hn::GetLane(ExpNegative(d, hn::Set(d, next.most[row] - base)));
  to.most[row] = most;
  to.total[row] = to.total[row] * keep + next.total[row] * join;
  for (int64_t j = 0; j < stride; j += kPagedLanes) {
    float* at = to.sums + row * stride + j;
    const auto joined = hn::Mul(hn::LoadU(d, next.sums + row * stride + j), hn::Set(d, join));
    hn::StoreU(hn::MulAdd(hn::LoadU(d, at), hn::Set(d, keep), joined), d, at);
  }
}

// The rows of one head, divided by the sum of weights, which the sink joins.
template <typename T>
void Finish(const PagedKernel<T>& kernel, int64_t h) {
  const PagedPlan& plan = kernel.plan;
  const PagedSums from = kernel.sums_of(h);
  const hn::ScalableTag<float> d;
  for (int64_t row = 0; row < kernel.rows; ++row) {
    float factor = 1, total = from.total[row];
    if (plan.sinks) {
      const float sink = plan.sinks[kernel.head(h, row)], most = std::max(from.most[row], sink);
      factor = hn::GetLane(ExpNegative(d, hn::Set(d, from.most[row] - most)));
      total = total * factor + hn::GetLane(ExpNegative(d, hn::Set(d, sink - most)));
    }
    const float inverse = factor / total;
    float* sums = from.sums + row * kernel.stride;
    for (int64_t j = 0; j < kernel.stride; j += kPagedLanes) {
      hn::StoreU(hn::Mul(hn::LoadU(d, sums + j), hn::Set(d, inverse)), d, sums + j);
    }
    float* to = plan.out + (kernel.token(row) * plan.heads + kernel.head(h, row)) * plan.value_dim;
    std::copy_n(sums, plan.value_dim, to);
  }
}

template <typename T>
void RunWhole(const PagedPlan& plan, const PagedTask& task) {
  PagedKernel<T> kernel{plan, task};
  const int64_t size = PagedSums::size(plan, kernel.rows), heads = task.head_count;
  float* memory = cpu::scratch<float, struct PagedState>(2 * heads * size);
  const int64_t first = task.item->first_split(plan), end = task.item->end_split(plan);
  kernel.start(memory, size);
  kernel.run_split(first);
  for (int64_t split = first + 1; split < end; ++split) {
    kernel.sums = memory + heads * size;
    kernel.run_split(split);
    for (int64_t h = 0; h < heads; ++h) {
      const PagedSums all(plan, kernel.rows, memory + h * size), next = kernel.sums_of(h);
      for (int64_t row = 0; row < kernel.rows; ++row) JoinSplit(next, all, row, kernel.stride);
    }
  }
  kernel.sums = memory;
  for (int64_t h = 0; h < heads; ++h) Finish(kernel, h);
}

template <typename T>
void RunSplit(const PagedPlan& plan, const PagedTask& task) {
  PagedKernel<T> kernel{plan, task};
  kernel.start(task.sums, task.sums_step);
  kernel.run_split(task.split);
}

void RunTask(const PagedPlan& plan, const PagedTask& task) {
  const auto run = [&](auto zero) HWY_ATTR {
    using T = decltype(zero);
    task.sums ? RunSplit<T>(plan, task) : RunWhole<T>(plan, task);
  };
  switch (plan.dtype) {
    case DType::kF16: return run(Half{});
    case DType::kBF16: return run(BFloat16{});
    case DType::kI8: return run(int8_t{});
    default: return run(float{});
  }
}

void JoinTask(const PagedPlan& plan, const PagedTask& task) {
  PagedKernel<float> kernel{plan, task};
  kernel.sums = task.sums;
  const int64_t size = PagedSums::size(plan, kernel.rows);
  const PagedSums all(plan, kernel.rows, task.sums);
  for (int64_t split = task.item->first_split(plan) + 1; split < task.item->end_split(plan); ++split) {
    kernel.sums += size;
    for (int64_t row = 0; row < kernel.rows; ++row) JoinSplit(kernel.sums_of(0), all, row, kernel.stride);
  }
  kernel.sums = task.sums;
  Finish(kernel, 0);
}

}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick {
HWY_EXPORT(RunTask);
HWY_EXPORT(JoinTask);
namespace cpu {
void paged_task(const PagedPlan& plan, const PagedTask& task) { HWY_DYNAMIC_DISPATCH(RunTask)(plan, task); }
void paged_join(const PagedPlan& plan, const PagedTask& task) { HWY_DYNAMIC_DISPATCH(JoinTask)(plan, task); }
}  // namespace cpu
}  // namespace wick
#endif
