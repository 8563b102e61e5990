#include <functional>

#include "backends/cpu/basic/elementwise.h"
#include "backends/cpu/kernels.h"

namespace wick::cpu {
namespace {

template <typename T, typename Op>
void compare_run(const Run& run, uint8_t* __restrict out, int64_t count, const Op& op) {
  const T* a = static_cast<const T*>(run.in[0]);
  const T* b = static_cast<const T*>(run.in[1]);
  if (run.step[0] && run.step[1]) {
    for (int64_t i = 0; i < count; ++i) out[i] = op(a[i], b[i]);
  } else if (run.step[0]) {
    const T second = *b;
    for (int64_t i = 0; i < count; ++i) out[i] = op(a[i], second);
  } else {
    const T first = *a;
    for (int64_t i = 0; i < count; ++i) out[i] = op(first, b[run.step[1] * i]);
  }
}

}  // namespace

void compare(CompareOp op, const Tensor& a, const Tensor& b, const Tensor& out) {
  const DType compute = compute_dtype(a.dtype());
  const Source sources[] = {Source(a, compute), Source(b, compute)};
  visit_dtype(compute, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_arithmetic_v<T>) {
      for_each_run(sources, {.repeats = true}, out, DType::kU8, [&](const Run& run, void* to, int64_t count) {
        auto* bytes = static_cast<uint8_t*>(to);
        switch (op) {
          case CompareOp::kEq: return compare_run<T>(run, bytes, count, std::equal_to<T>());
          case CompareOp::kNe: return compare_run<T>(run, bytes, count, std::not_equal_to<T>());
          case CompareOp::kLt: return compare_run<T>(run, bytes, count, std::less<T>());
          case CompareOp::kLe: return compare_run<T>(run, bytes, count, std::less_equal<T>());
          case CompareOp::kGt: return compare_run<T>(run, bytes, count, std::greater<T>());
          case CompareOp::kGe: return compare_run<T>(run, bytes, count, std::greater_equal<T>());
        }
      });
    }
  });
}

}  // namespace wick::cpu
