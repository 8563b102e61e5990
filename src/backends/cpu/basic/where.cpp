#include "backends/cpu/basic/elementwise.h"
#include "backends/cpu/kernels.h"

namespace wick::cpu {
namespace {

template <typename T>
void where_run(const Run& run, T* __restrict out, int64_t count) {
  const auto* chosen = static_cast<const uint8_t*>(run.in[0]);
  const T* a = static_cast<const T*>(run.in[1]);
  const T* b = static_cast<const T*>(run.in[2]);
  for (int64_t i = 0; i < count; ++i) {
    const T yes = a[i], no = b[i];  // both are read, so that the choice is a blend
    out[i] = chosen[i] ? yes : no;
  }
}

}  // namespace

void where(const Tensor& condition, const Tensor& a, const Tensor& b, const Tensor& out) {
  const DType dtype = out.dtype();
  const Source sources[] = {Source(condition, DType::kU8), Source(a, dtype), Source(b, dtype)};
  for_each_run(sources, {}, out, dtype, [&](const Run& run, void* to, int64_t count) {
    switch (size_of(dtype)) {
      case 1: return where_run(run, static_cast<uint8_t*>(to), count);
      case 2: return where_run(run, static_cast<uint16_t*>(to), count);
      case 4: return where_run(run, static_cast<uint32_t*>(to), count);
      default: return where_run(run, static_cast<uint64_t*>(to), count);
    }
  });
}

}  // namespace wick::cpu
