#include "backends/cpu/basic/elementwise.h"
#include "backends/cpu/kernels.h"

namespace wick::cpu {

void clamp(const Tensor& x, double low, double high, const Tensor& out) {
  const DType compute = compute_dtype(x.dtype());
  const Source source(x, compute);
  visit_dtype(compute, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_arithmetic_v<T>) {
      const T least = convert<T>(low), most = convert<T>(high);
      for_each_run({&source, 1}, {}, out, compute, [&](const Run& run, void* to, int64_t count) {
        const T* __restrict from = static_cast<const T*>(run.in[0]);
        T* __restrict result = static_cast<T*>(to);
        for (int64_t i = 0; i < count; ++i) {  // NaN passes
          const T raised = from[i] < least ? least : from[i];
          result[i] = raised > most ? most : raised;
        }
      });
    }
  });
}

}  // namespace wick::cpu
