#include <cmath>
#include <numbers>

#include "backends/cpu/basic/elementwise.h"
#include "backends/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/basic/unary.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "backends/cpu/load-inl.h"
#include "backends/cpu/math-inl.h"
#include "backends/cpu/table_math-inl.h"
#include "hwy/cache_control.h"

HWY_BEFORE_NAMESPACE();
namespace wick::HWY_NAMESPACE {
namespace {

using UnaryFn = void (*)(const void* in, void* out, size_t count, bool streams);

// Op is a functor of (d, vector); a template argument, so that it is inlined into the loop.
template <typename T, auto kOp>
void VectorRun(const void* from, void* to, size_t count, bool streams) {
  const hn::ScalableTag<T> d;
  const size_t lanes = hn::Lanes(d);
  const T* HWY_RESTRICT in = static_cast<const T*>(from);
  T* HWY_RESTRICT out = static_cast<T*>(to);
  size_t i = 0;
  if (streams) {
    for (; i + lanes <= count; i += lanes) hn::Stream(kOp(d, hn::LoadU(d, in + i)), d, out + i);
  } else {
    for (; i + lanes <= count; i += lanes) hn::StoreU(kOp(d, hn::LoadU(d, in + i)), d, out + i);
  }
  if (i < count) StoreAsN(kOp(d, LoadAsN(d, in + i, count - i)), d, out + i, count - i);
}

#if WICK_HAVE_SCALEF
// Op is a functor of a vector that holds tables.
template <class Op>
void TableRun(const void* from, void* to, size_t count, bool streams) {
  const TagF32 d;
  const size_t lanes = hn::Lanes(d);
  const float* HWY_RESTRICT in = static_cast<const float*>(from);
  float* HWY_RESTRICT out = static_cast<float*>(to);
  const Op op;
  constexpr size_t kAhead = 512;  // the loads of a long formula would else wait behind it
  size_t i = 0;
  if (streams) {
    for (; i + lanes <= count; i += lanes) {
      hwy::Prefetch(in + i + kAhead);
      hn::Stream(op(hn::LoadU(d, in + i)), d, out + i);
    }
  } else {
    for (; i + lanes <= count; i += lanes) hn::StoreU(op(hn::LoadU(d, in + i)), d, out + i);
  }
  if (i < count) StoreAsN(op(LoadAsN(d, in + i, count - i)), d, out + i, count - i);
}
#endif

template <typename T, auto kOp>
void ScalarRun(const void* from, void* to, size_t count, bool /*streams*/) {
  const T* HWY_RESTRICT in = static_cast<const T*>(from);
  T* HWY_RESTRICT out = static_cast<T*>(to);
  for (size_t i = 0; i < count; ++i) out[i] = kOp(in[i]);
}

#define WICK_VECTOR(...) VectorRun<T, [](auto d, auto x) HWY_ATTR { return __VA_ARGS__; }>
#define WICK_SCALAR(...) ScalarRun<T, [](T x) { return static_cast<T>(__VA_ARGS__); }>

// What f32 and f64 do alike.
template <typename T>
UnaryFn FloatRun(UnaryOp op) {
  switch (op) {
    case UnaryOp::kNeg: return WICK_VECTOR((void(d), hn::Neg(x)));
    case UnaryOp::kAbs: return WICK_VECTOR((void(d), hn::Abs(x)));
    case UnaryOp::kExp: return WICK_VECTOR(ExpFull(d, x));
    case UnaryOp::kLog: return WICK_VECTOR(LogFull(d, x));
    case UnaryOp::kSqrt: return WICK_VECTOR((void(d), hn::Sqrt(x)));
    case UnaryOp::kSqr: return WICK_VECTOR((void(d), hn::Mul(x, x)));
    case UnaryOp::kRecip: return WICK_VECTOR(hn::Div(hn::Set(d, T{1}), x));
    case UnaryOp::kRelu: return WICK_VECTOR(hn::IfThenZeroElse(hn::Lt(x, hn::Zero(d)), x));
    case UnaryOp::kSilu: return WICK_VECTOR(hn::Mul(x, SigmoidOf(d, x)));
    case UnaryOp::kSigmoid: return WICK_VECTOR(SigmoidOf(d, x));
    case UnaryOp::kFloor: return WICK_VECTOR((void(d), hn::Floor(x)));
    case UnaryOp::kCeil: return WICK_VECTOR((void(d), hn::Ceil(x)));
    case UnaryOp::kRound: return WICK_VECTOR((void(d), hn::Round(x)));
    case UnaryOp::kGeluTanh:
      // 0.5 (1 + tanh u) is the sigmoid of 2 u.
      return WICK_VECTOR(
          hn::Mul(x, SigmoidOf(d, hn::Mul(hn::Set(d, T(1.5957691216057308)),
                                          hn::MulAdd(hn::Mul(hn::Set(d, T(0.044715)), hn::Mul(x, x)), x, x)))));
    default: return nullptr;
  }
}

}  // namespace

UnaryFn UnaryF32(UnaryOp op) {
  using T = float;
#if WICK_HAVE_SCALEF
  switch (op) {
    case UnaryOp::kExp: return TableRun<ExpOp>;
    case UnaryOp::kLog: return TableRun<LogOp>;
    case UnaryOp::kSilu: return TableRun<SiluOp>;
    case UnaryOp::kSigmoid: return TableRun<SigmoidOp>;
    case UnaryOp::kGelu: return TableRun<GeluOp>;
    case UnaryOp::kGeluTanh: return TableRun<GeluTanhOp>;
    case UnaryOp::kSoftplus: return TableRun<SoftplusOp>;
    case UnaryOp::kTanh: return TableRun<TanhOp>;
    case UnaryOp::kErf: return TableRun<ErfOp>;
    default: break;
  }
#endif
  switch (op) {
    case UnaryOp::kGelu:
      return WICK_VECTOR(hn::Mul(hn::Mul(hn::Set(d, 0.5f), x),
                                 hn::Add(hn::Set(d, 1.0f), ErfF32(d, hn::Mul(x, hn::Set(d, 0.707106781f))))));
    case UnaryOp::kSoftplus: return WICK_VECTOR(SoftplusF32(d, x));
    case UnaryOp::kTanh: return WICK_VECTOR(TanhF32(d, x));
    case UnaryOp::kSin: return WICK_VECTOR(SinF32(d, x));
    case UnaryOp::kCos: return WICK_VECTOR(CosF32(d, x));
    case UnaryOp::kErf: return WICK_VECTOR(ErfF32(d, x));
    default: return FloatRun<float>(op);
  }
}

// The rarer functions of f64 are the C library's: they are exact to the last place or so, and seldom used.
UnaryFn UnaryF64(UnaryOp op) {
  using T = double;
  switch (op) {
    case UnaryOp::kGelu: return WICK_SCALAR(0.5 * x * (1 + std::erf(x / std::numbers::sqrt2)));
    case UnaryOp::kSoftplus: return WICK_SCALAR((x > 0 || x != x ? x : 0) + std::log1p(std::exp(-std::abs(x))));
    case UnaryOp::kTanh: return WICK_SCALAR(std::tanh(x));
    case UnaryOp::kSin: return WICK_SCALAR(std::sin(x));
    case UnaryOp::kCos: return WICK_SCALAR(std::cos(x));
    case UnaryOp::kErf: return WICK_SCALAR(std::erf(x));
    default: return FloatRun<double>(op);
  }
}

#undef WICK_VECTOR
#undef WICK_SCALAR

}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick {
HWY_EXPORT(UnaryF32);
HWY_EXPORT(UnaryF64);
}  // namespace wick

namespace wick::cpu {
namespace {

// Integers wrap around. The loop is simple enough for the compiler to vectorise.
template <typename T>
void integer_run(UnaryOp op, const T* in, T* out, int64_t count) {
  using U = std::make_unsigned_t<T>;
  switch (op) {
    case UnaryOp::kNeg:
      for (int64_t i = 0; i < count; ++i) out[i] = static_cast<T>(U{0} - static_cast<U>(in[i]));
      break;
    case UnaryOp::kAbs:
      for (int64_t i = 0; i < count; ++i) {
        out[i] = static_cast<int64_t>(in[i]) < 0 ? static_cast<T>(U{0} - static_cast<U>(in[i])) : in[i];
      }
      break;
    case UnaryOp::kSqr:
      for (int64_t i = 0; i < count; ++i) {
        out[i] = static_cast<T>(static_cast<uint64_t>(in[i]) * static_cast<uint64_t>(in[i]));
      }
      break;
    case UnaryOp::kRelu:
      for (int64_t i = 0; i < count; ++i) out[i] = static_cast<int64_t>(in[i]) < 0 ? T{0} : in[i];
      break;
    default: std::copy(in, in + count, out);  // floor, ceil, round
  }
}

}  // namespace

void unary(UnaryOp op, const Tensor& x, const Tensor& out) {
  const DType compute = compute_dtype(x.dtype());
  const Source source(x, compute);
  if (is_float(compute)) {
    const auto fn = compute == DType::kF32 ? HWY_DYNAMIC_DISPATCH(UnaryF32)(op) : HWY_DYNAMIC_DISPATCH(UnaryF64)(op);
    for_each_run({&source, 1}, {.streams = true}, out, compute,
                 [&](const Run& run, void* to, int64_t count) { fn(run.in[0], to, count, run.streams); });
    return;
  }
  visit_dtype(compute, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      for_each_run({&source, 1}, {}, out, compute, [&](const Run& run, void* to, int64_t count) {
        integer_run(op, static_cast<const T*>(run.in[0]), static_cast<T*>(to), count);
      });
    }
  });
}

}  // namespace wick::cpu
#endif  // HWY_ONCE
