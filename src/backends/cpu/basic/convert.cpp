#include "backends/cpu/basic/convert.h"

#include <algorithm>
#include <array>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/basic/convert.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "backends/cpu/load-inl.h"
#include "hwy/cache_control.h"

HWY_BEFORE_NAMESPACE();
namespace wick::HWY_NAMESPACE {
namespace {

// Contiguous, between f32 and one of f16, bf16.
template <typename From, typename To>
void ConvertRow(const From* from, To* to, size_t count) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) StoreAs(LoadAs(d, from + i), d, to + i);
  if (i < count) StoreAsN(LoadAsN(d, from + i, count - i), d, to + i, count - i);
}

}  // namespace

void HalfToFloat(const Half* from, float* to, size_t count) { ConvertRow(from, to, count); }
void BFloatToFloat(const BFloat16* from, float* to, size_t count) { ConvertRow(from, to, count); }
void FloatToHalf(const float* from, Half* to, size_t count) { ConvertRow(from, to, count); }
void FloatToBFloat(const float* from, BFloat16* to, size_t count) { ConvertRow(from, to, count); }

void StreamBytes(const uint8_t* from, uint8_t* to, size_t bytes) {
  const hn::ScalableTag<uint8_t> d;
  const size_t lanes = hn::Lanes(d);
  const size_t head = std::min(bytes, (64 - reinterpret_cast<uintptr_t>(to) % 64) % 64);
  if (head) std::memcpy(to, from, head);
  size_t i = head;
  for (; i + 64 <= bytes; i += 64) {  // a whole line at a time, so that none is written in halves
    for (size_t j = 0; j < 64; j += lanes) hn::Stream(hn::LoadU(d, from + i + j), d, to + i + j);
  }
  if (i < bytes) std::memcpy(to + i, from + i, bytes - i);
}

}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick {
HWY_EXPORT(HalfToFloat);
HWY_EXPORT(BFloatToFloat);
HWY_EXPORT(FloatToHalf);
HWY_EXPORT(FloatToBFloat);
HWY_EXPORT(StreamBytes);
}  // namespace wick

namespace wick::cpu {
namespace {

void convert_row(const Half* from, float* to, size_t count) { HWY_DYNAMIC_DISPATCH(HalfToFloat)(from, to, count); }
void convert_row(const BFloat16* from, float* to, size_t count) {
  HWY_DYNAMIC_DISPATCH(BFloatToFloat)(from, to, count);
}
void convert_row(const float* from, Half* to, size_t count) { HWY_DYNAMIC_DISPATCH(FloatToHalf)(from, to, count); }
void convert_row(const float* from, BFloat16* to, size_t count) {
  HWY_DYNAMIC_DISPATCH(FloatToBFloat)(from, to, count);
}

template <typename From, typename To>
void convert_strided(const From* from, int64_t from_stride, To* to, int64_t to_stride, int64_t count) {
  if (from_stride == 1 && to_stride == 1) {
    if constexpr (std::is_same_v<From, To>) {
      std::memcpy(to, from, count * sizeof(To));
    } else {
      for (int64_t i = 0; i < count; ++i) to[i] = convert<To>(from[i]);
    }
  } else if (from_stride == 0) {
    const To value = convert<To>(*from);
    for (int64_t i = 0; i < count; ++i) to[i * to_stride] = value;
  } else if (to_stride == 1) {
    for (int64_t i = 0; i < count; ++i) to[i] = convert<To>(from[i * from_stride]);
  } else {
    for (int64_t i = 0; i < count; ++i) to[i * to_stride] = convert<To>(from[i * from_stride]);
  }
}

template <typename From, typename To>
void convert_run(const std::byte* from_bytes, int64_t from_stride, std::byte* to_bytes, int64_t to_stride,
                 int64_t count) {
  constexpr bool from_half = std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>;
  constexpr bool to_half = std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>;
  const auto* from = reinterpret_cast<const From*>(from_bytes);
  auto* to = reinterpret_cast<To*>(to_bytes);
  if (count <= 0) return;
  if constexpr ((from_half && std::is_same_v<To, float>) || (to_half && std::is_same_v<From, float>)) {
    if (from_stride == 0) return convert_strided(from, from_stride, to, to_stride, count);
    if (from_stride == 1 && to_stride == 1) return convert_row(from, to, count);
    constexpr int64_t kBlock = 512;
    From packed[kBlock];
    To converted[kBlock];
    for (int64_t at = 0; at < count; at += kBlock) {
      const int64_t n = std::min(kBlock, count - at);
      convert_strided(from + at * from_stride, from_stride, packed, 1, n);
      convert_row(packed, converted, n);
      convert_strided(converted, 1, to + at * to_stride, to_stride, n);
    }
  } else if constexpr (std::is_same_v<From, To>) {
    using Bits = std::conditional_t<sizeof(To) == 2, uint16_t, To>;
    convert_strided(reinterpret_cast<const Bits*>(from), from_stride, reinterpret_cast<Bits*>(to), to_stride, count);
  } else {
    convert_strided(from, from_stride, to, to_stride, count);
  }
}

}  // namespace

ConvertFn converter(DType from, DType to) {
  static const auto table = [] {
    std::array<std::array<ConvertFn, kElementDTypeCount>, kElementDTypeCount> fns{};
    for (int f = 0; f < kElementDTypeCount; ++f) {
      for (int t = 0; t < kElementDTypeCount; ++t) {
        visit_dtype(static_cast<DType>(f), [&](auto a) {
          visit_dtype(static_cast<DType>(t), [&](auto b) { fns[f][t] = convert_run<decltype(a), decltype(b)>; });
        });
      }
    }
    return fns;
  }();
  return table[static_cast<int>(from)][static_cast<int>(to)];
}

void end_stream() { hwy::FlushStream(); }

void stream_bytes(const void* from, void* to, size_t bytes) {
  HWY_DYNAMIC_DISPATCH(StreamBytes)(static_cast<const uint8_t*>(from), static_cast<uint8_t*>(to), bytes);
}

}  // namespace wick::cpu
#endif  // HWY_ONCE
