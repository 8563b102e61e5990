#include <cmath>

#include "backends/cpu/basic/elementwise.h"
#include "backends/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/basic/binary.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "backends/cpu/load-inl.h"
#include "backends/cpu/math-inl.h"
#include "backends/cpu/table_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick::HWY_NAMESPACE {
namespace {

// A step of 0 means that the operand is its first element throughout.
using BinaryFn = void (*)(const void* a, int a_step, const void* b, int b_step, void* out, size_t count, bool streams);

template <typename T, auto kOp>
void VectorRun(const void* from_a, int a_step, const void* from_b, int b_step, void* to, size_t count, bool streams) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  const T* HWY_RESTRICT a = static_cast<const T*>(from_a);
  const T* HWY_RESTRICT b = static_cast<const T*>(from_b);
  T* HWY_RESTRICT out = static_cast<T*>(to);
  const auto first_a = hn::Set(d, *a), first_b = hn::Set(d, *b);
  size_t i = 0;
  const auto loop = [&](auto store) HWY_ATTR {
    if (a_step && b_step) {
      for (; i + lanes <= count; i += lanes) store(kOp(d, hn::LoadU(d, a + i), hn::LoadU(d, b + i)), out + i);
    } else if (a_step) {
      for (; i + lanes <= count; i += lanes) store(kOp(d, hn::LoadU(d, a + i), first_b), out + i);
    } else if (b_step) {
      for (; i + lanes <= count; i += lanes) store(kOp(d, first_a, hn::LoadU(d, b + i)), out + i);
    } else {
      for (; i + lanes <= count; i += lanes) store(kOp(d, first_a, first_b), out + i);
    }
  };
  if (streams) {
    loop([d](auto v, T* at) HWY_ATTR { hn::Stream(v, d, at); });
  } else {
    loop([d](auto v, T* at) HWY_ATTR { hn::StoreU(v, d, at); });
  }
  if (i == count) return;
  const size_t n = count - i;
  const auto last_a = a_step ? LoadAsN(d, a + i, n) : hn::Set(d, *a);
  const auto last_b = b_step ? LoadAsN(d, b + i, n) : hn::Set(d, *b);
  StoreAsN(kOp(d, last_a, last_b), d, out + i, n);
}

#define WICK_VECTOR(...) VectorRun<T, [](auto d, auto a, auto b) HWY_ATTR { return (void(d), __VA_ARGS__); }>

template <typename T>
BinaryFn FloatRun(BinaryOp op) {
  switch (op) {
    case BinaryOp::kAdd: return WICK_VECTOR(hn::Add(a, b));
    case BinaryOp::kSub: return WICK_VECTOR(hn::Sub(a, b));
    case BinaryOp::kMul: return WICK_VECTOR(hn::Mul(a, b));
    case BinaryOp::kDiv: return WICK_VECTOR(hn::Div(a, b));
    case BinaryOp::kMaximum: return WICK_VECTOR(hn::IfThenElse(hn::Or(hn::IsNaN(a), hn::Gt(a, b)), a, b));
    case BinaryOp::kMinimum: return WICK_VECTOR(hn::IfThenElse(hn::Or(hn::IsNaN(a), hn::Lt(a, b)), a, b));
    case BinaryOp::kPow: break;
  }
  return nullptr;
}

#undef WICK_VECTOR

#if WICK_HAVE_SCALEF
void PowF32(const void* from_a, int a_step, const void* from_b, int b_step, void* to, size_t count, bool streams) {
  const TagF32 d;
  const size_t lanes = hn::Lanes(d);
  const float* a = static_cast<const float*>(from_a);
  const float* b = static_cast<const float*>(from_b);
  float* out = static_cast<float*>(to);
  const auto infinity = hn::Set(d, std::numeric_limits<float>::infinity());
  const PowOp op;
  for (size_t i = 0; i < count; i += lanes) {
    const size_t n = HWY_MIN(lanes, count - i);
    const auto base = a_step ? LoadAsN(d, a + i, n) : hn::Set(d, *a);
    const auto power = b_step ? LoadAsN(d, b + i, n) : hn::Set(d, *b);
    auto result = op(base, power);
    const auto plain =
        hn::And(hn::And(hn::Gt(base, hn::Zero(d)), hn::Lt(base, infinity)), hn::Lt(hn::Abs(power), infinity));
    if (HWY_UNLIKELY(!hn::AllTrue(d, plain))) {  // the C library knows the other cases
      HWY_ALIGN float bases[hn::MaxLanes(d)], powers[hn::MaxLanes(d)], results[hn::MaxLanes(d)];
      hn::Store(base, d, bases);
      hn::Store(power, d, powers);
      for (size_t j = 0; j < n; ++j) results[j] = static_cast<float>(std::pow(double{bases[j]}, double{powers[j]}));
      result = hn::IfThenElse(plain, result, hn::Load(d, results));
    }
    if (n < lanes) {
      StoreAsN(result, d, out + i, n);
    } else if (streams) {
      hn::Stream(result, d, out + i);
    } else {
      hn::StoreU(result, d, out + i);
    }
  }
}
#else
// a^b as e^(b log a) in f64 for positive finite a and finite b; the C library knows the other cases.
void PowF32(const void* from_a, int a_step, const void* from_b, int b_step, void* to, size_t count, bool) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> df;
  const size_t lanes = hn::Lanes(d);
  const float* a = static_cast<const float*>(from_a);
  const float* b = static_cast<const float*>(from_b);
  float* out = static_cast<float*>(to);
  const auto infinity = hn::Set(d, std::numeric_limits<double>::infinity());
  for (size_t i = 0; i < count; i += lanes) {
    const size_t n = HWY_MIN(lanes, count - i);
    const auto base = hn::PromoteTo(d, a_step ? LoadAsN(df, a + i, n) : hn::Set(df, *a));
    const auto power = hn::PromoteTo(d, b_step ? LoadAsN(df, b + i, n) : hn::Set(df, *b));
    const auto plain =
        hn::And(hn::And(hn::Gt(base, hn::Zero(d)), hn::Lt(base, infinity)), hn::Lt(hn::Abs(power), infinity));
    const auto exponent = hn::Mul(power, hn::Log(d, base));
    // Beyond +-200 an f32 has long become infinity or 0.
    const auto bounded = hn::Min(hn::Max(exponent, hn::Set(d, -200.0)), hn::Set(d, 200.0));
    HWY_ALIGN float lane[hn::MaxLanes(df)];
    hn::Store(hn::DemoteTo(df, hn::Exp(d, bounded)), df, lane);
    if (!hn::AllTrue(d, plain)) {
      HWY_ALIGN double bases[hn::MaxLanes(d)], powers[hn::MaxLanes(d)], flags[hn::MaxLanes(d)];
      hn::Store(base, d, bases);
      hn::Store(power, d, powers);
      hn::Store(hn::IfThenElseZero(plain, hn::Set(d, 1.0)), d, flags);
      for (size_t j = 0; j < n; ++j) {
        if (flags[j] == 0) lane[j] = static_cast<float>(std::pow(bases[j], powers[j]));
      }
    }
    std::memcpy(out + i, lane, n * sizeof(float));
  }
}

#endif

void PowF64(const void* from_a, int a_step, const void* from_b, int b_step, void* to, size_t count, bool) {
  const double* a = static_cast<const double*>(from_a);
  const double* b = static_cast<const double*>(from_b);
  double* out = static_cast<double*>(to);
  for (size_t i = 0; i < count; ++i) out[i] = std::pow(a[a_step * i], b[b_step * i]);
}

}  // namespace

BinaryFn BinaryF32(BinaryOp op) { return op == BinaryOp::kPow ? PowF32 : FloatRun<float>(op); }
BinaryFn BinaryF64(BinaryOp op) { return op == BinaryOp::kPow ? PowF64 : FloatRun<double>(op); }

}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick {
HWY_EXPORT(BinaryF32);
HWY_EXPORT(BinaryF64);
}  // namespace wick

namespace wick::cpu {
namespace {

uint64_t power(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent; exponent >>= 1, base *= base) {
    if (exponent & 1) result *= base;
  }
  return result;
}

template <typename T, typename Op>
void integer_loop(const T* a, int a_step, const T* b, int b_step, T* out, int64_t count, const Op& op) {
  if (a_step && b_step) {
    for (int64_t i = 0; i < count; ++i) out[i] = op(a[i], b[i]);
  } else if (a_step) {
    for (int64_t i = 0; i < count; ++i) out[i] = op(a[i], *b);
  } else {
    for (int64_t i = 0; i < count; ++i) out[i] = op(*a, b[b_step * i]);
  }
}

// Integers wrap around; division never comes here (the op converts to f64).
template <typename T>
void integer_run(BinaryOp op, const T* a, int a_step, const T* b, int b_step, T* out, int64_t count) {
  const auto run = [&](auto body) { integer_loop(a, a_step, b, b_step, out, count, body); };
  const auto wide = [](T value) { return static_cast<uint64_t>(static_cast<int64_t>(value)); };
  switch (op) {
    case BinaryOp::kAdd: return run([=](T x, T y) { return static_cast<T>(wide(x) + wide(y)); });
    case BinaryOp::kSub: return run([=](T x, T y) { return static_cast<T>(wide(x) - wide(y)); });
    case BinaryOp::kMul: return run([=](T x, T y) { return static_cast<T>(wide(x) * wide(y)); });
    case BinaryOp::kPow: return run([=](T x, T y) { return static_cast<T>(power(wide(x), wide(y))); });
    case BinaryOp::kMaximum: return run([](T x, T y) { return x > y ? x : y; });
    case BinaryOp::kMinimum: return run([](T x, T y) { return x < y ? x : y; });
    case BinaryOp::kDiv: break;
  }
}

}  // namespace

void binary(BinaryOp op, const Tensor& a, const Tensor& b, const Tensor& out) {
  const DType compute = compute_dtype(out.dtype());
  const Source sources[] = {Source(a, compute), Source(b, compute)};
  if (is_float(compute)) {
    const auto fn = compute == DType::kF32 ? HWY_DYNAMIC_DISPATCH(BinaryF32)(op) : HWY_DYNAMIC_DISPATCH(BinaryF64)(op);
    for_each_run(sources, {.repeats = true, .streams = true}, out, compute,
                 [&](const Run& run, void* to, int64_t count) {
                   fn(run.in[0], run.step[0], run.in[1], run.step[1], to, count, run.streams);
                 });
    return;
  }
  visit_dtype(compute, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      for_each_run(sources, {.repeats = true}, out, compute, [&](const Run& run, void* to, int64_t count) {
        integer_run(op, static_cast<const T*>(run.in[0]), run.step[0], static_cast<const T*>(run.in[1]), run.step[1],
                    static_cast<T*>(to), count);
      });
    }
  });
}

}  // namespace wick::cpu
#endif  // HWY_ONCE
