#include "backends/cpu/quant/packed_plan.h"
#include "backends/cpu/scratch.h"
#include "base/thread_pool.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/quant/packed_activations.cpp"
#include "hwy/foreach_target.h"
// After foreach_target: compiled once per target.
#include "backends/cpu/load-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick::HWY_NAMESPACE {

// The largest magnitude as bits, so that infinity and NaN win.
template <typename T>
uint32_t LargestMagnitude(const T* x, int64_t count) {
  const hn::CappedTag<float, 16> df;
  const hn::RebindToUnsigned<decltype(df)> du;
  auto largest = hn::Zero(du);
  for (int64_t i = 0; i < count; i += hn::Lanes(df)) {
    largest = hn::Max(largest, hn::And(hn::BitCast(du, LoadAs(df, x + i)), hn::Set(du, 0x7fffffff)));
  }
  HWY_ALIGN uint32_t lanes[hn::MaxLanes(du)];
  hn::Store(largest, du, lanes);
  return *std::max_element(lanes, lanes + hn::Lanes(du));
}

// One block: values to q, and q summed over runs of `run`. Returns the scale; NaN for values that are not finite.
template <typename T>
float PackBlock(const T* x, int64_t block, int64_t run, int8_t* q, int16_t* sums) {
  const uint32_t bits = LargestMagnitude(x, block);
  if (bits >= 0x7f800000u || bits == 0) {
    std::fill_n(q, block, int8_t{0});
    std::fill_n(sums, block / run, int16_t{0});
    return bits == 0 ? 0.f : std::numeric_limits<float>::quiet_NaN();
  }
  float largest;
  std::memcpy(&largest, &bits, sizeof(largest));
  const float scale = largest / 127;
  // A subnormal scale has no finite inverse; such values round to zero like the subnormals they are.
  const float inverse = scale >= std::numeric_limits<float>::min() ? 1 / scale : 0.f;
  const hn::CappedTag<float, 16> df;
  const hn::Rebind<int32_t, decltype(df)> di;
  const hn::Rebind<int8_t, decltype(df)> d8;
  for (int64_t start = 0; start < block; start += run) {
    auto sum = hn::Zero(di);
    for (int64_t i = start; i < start + run; i += hn::Lanes(df)) {
      const auto rounded = hn::NearestInt(hn::Mul(LoadAs(df, x + i), hn::Set(df, inverse)));
      sum = hn::Add(sum, rounded);
      hn::StoreU(hn::DemoteTo(d8, rounded), d8, q + i);
    }
    HWY_ALIGN int32_t lanes[hn::MaxLanes(di)];
    hn::Store(sum, di, lanes);
    int32_t total = 0;
    for (size_t i = 0; i < hn::Lanes(di); ++i) total += lanes[i];
    sums[run == 16 ? start / 32 + start / 16 % 2 * 8 : 0] = static_cast<int16_t>(total);
  }
  return scale;
}

template <typename T>
void PackRowAs(const T* x, int64_t k, int64_t block, int8_t* q, float* scale, int16_t* sums) {
  const int64_t run = block == 32 ? 32 : 16;
  for (int64_t i = 0; i < k; i += block) scale[i / block] = PackBlock(x + i, block, run, q + i, sums + i / run);
}

void PackRow(DType dtype, const std::byte* x, int64_t k, int64_t block, int8_t* q, float* scale, int16_t* sums) {
  switch (dtype) {
    case DType::kF16: return PackRowAs(reinterpret_cast<const Half*>(x), k, block, q, scale, sums);
    case DType::kBF16: return PackRowAs(reinterpret_cast<const BFloat16*>(x), k, block, q, scale, sums);
    default: return PackRowAs(reinterpret_cast<const float*>(x), k, block, q, scale, sums);
  }
}

}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick::cpu {

HWY_EXPORT(PackRow);

PackedActivations pack_activations(const Tensor& x, int block) {
  const int64_t rows = x.dim(0), k = x.dim(1), run = block == 32 ? 32 : 16;
  struct Bytes;
  struct Scales;
  struct Sums;
  auto* q = scratch<int8_t, Bytes>(rows * k);
  auto* scale = scratch<float, Scales>(rows * (k / block));
  auto* sums = scratch<int16_t, Sums>(rows * (k / run));
  const int64_t row_bytes = k * size_of(x.dtype());
  const auto pack = HWY_DYNAMIC_DISPATCH(PackRow);
  parallel_for(rows, std::max<int64_t>(1, 16384 / k), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      pack(x.dtype(), x.raw() + row * row_bytes, k, block, q + row * k, scale + row * (k / block),
           sums + row * (k / run));
    }
  });
  return {rows, k, block, q, scale, sums};
}

}  // namespace wick::cpu
#endif
