#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "media/dot.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "media/dot.h"

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

float dot_here(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, int64_t count) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto sum0 = hn::Zero(d), sum1 = hn::Zero(d), sum2 = hn::Zero(d), sum3 = hn::Zero(d);
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    sum0 = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), sum0);
    sum1 = hn::MulAdd(hn::LoadU(d, a + i + lanes), hn::LoadU(d, b + i + lanes), sum1);
    sum2 = hn::MulAdd(hn::LoadU(d, a + i + 2 * lanes), hn::LoadU(d, b + i + 2 * lanes), sum2);
    sum3 = hn::MulAdd(hn::LoadU(d, a + i + 3 * lanes), hn::LoadU(d, b + i + 3 * lanes), sum3);
  }
  for (; i + lanes <= count; i += lanes) sum0 = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), sum0);
  float total = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3))));
  for (; i < count; ++i) total += a[i] * b[i];
  return total;
}

void matrix_times_vector_here(const float* matrix, const float* x, int64_t rows, int64_t columns, float* out) {
  for (int64_t row = 0; row < rows; ++row) out[row] = dot_here(matrix + row * columns, x, columns);
}

}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick {

HWY_EXPORT(dot_here);
HWY_EXPORT(matrix_times_vector_here);

float dot(const float* a, const float* b, int64_t count) { return HWY_DYNAMIC_DISPATCH(dot_here)(a, b, count); }

void matrix_times_vector(const float* matrix, const float* x, int64_t rows, int64_t columns, float* out) {
  HWY_DYNAMIC_DISPATCH(matrix_times_vector_here)(matrix, x, rows, columns, out);
}

}  // namespace wick
#endif
