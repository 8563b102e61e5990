#include "backends/cpu/basic/row_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/basic/row_kernels.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "backends/cpu/load-inl.h"
#include "backends/cpu/table_math-inl.h"
#include "hwy/cache_control.h"

HWY_BEFORE_NAMESPACE();
namespace wick::HWY_NAMESPACE {
namespace {

// Adds up value(d, at, lanes) over a row: vectors of elements `at`..., with only the first `lanes` meant at the end.
template <typename T, class Value>
HWY_INLINE T SumOver(int64_t count, const Value& value) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto a = hn::Zero(d), b = hn::Zero(d), c = hn::Zero(d), e = hn::Zero(d);
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    a = hn::Add(a, value(d, i, lanes));
    b = hn::Add(b, value(d, i + lanes, lanes));
    c = hn::Add(c, value(d, i + 2 * lanes, lanes));
    e = hn::Add(e, value(d, i + 3 * lanes, lanes));
  }
  for (; i + lanes <= count; i += lanes) a = hn::Add(a, value(d, i, lanes));
  if (i < count) {
    const auto last = value(d, i, count - i);
    b = hn::Add(b, hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(count - i)), last));
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a, b), hn::Add(c, e))));
}

// The vector at x[i]; at the end of a row only its first `n` lanes.
template <class D, typename T>
HWY_INLINE hn::Vec<D> At(D d, const T* x, int64_t i, int64_t n) {
  return n == static_cast<int64_t>(hn::Lanes(d)) ? hn::LoadU(d, x + i) : LoadAsN(d, x + i, static_cast<size_t>(n));
}

template <typename T>
T Sum(const T* x, int64_t count) {
  return SumOver<T>(count, [x](auto d, int64_t i, int64_t n) HWY_ATTR { return At(d, x, i, n); });
}

template <typename T>
void MomentsOf(const T* x, int64_t count, T centre, T* distances, T* squares) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto c = hn::Set(d, centre);
  hn::Vec<decltype(d)> sum0 = hn::Zero(d), sum1 = sum0, sum2 = sum0, sum3 = sum0;
  hn::Vec<decltype(d)> square0 = sum0, square1 = sum0, square2 = sum0, square3 = sum0;
  const auto take = [c](auto v, auto& sum, auto& square) HWY_ATTR {
    const auto distance = hn::Sub(v, c);
    sum = hn::Add(sum, distance);
    square = hn::MulAdd(distance, distance, square);
  };
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    take(hn::LoadU(d, x + i), sum0, square0);
    take(hn::LoadU(d, x + i + lanes), sum1, square1);
    take(hn::LoadU(d, x + i + 2 * lanes), sum2, square2);
    take(hn::LoadU(d, x + i + 3 * lanes), sum3, square3);
  }
  for (; i < count; i += lanes) {
    const int64_t n = HWY_MIN(lanes, count - i);
    take(hn::IfThenElse(hn::FirstN(d, static_cast<size_t>(n)), At(d, x, i, n), c), sum0, square0);
  }
  *distances = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3))));
  *squares = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(square0, square1), hn::Add(square2, square3))));
}

template <typename T, bool kStore>
HWY_INLINE T ExpSumOver(const T* x, int64_t count, T most, T* out, const T* next) {
  const NegativeExpOp<T> exp;
  return SumOver<T>(count, [=](auto d, int64_t i, int64_t n) HWY_ATTR {
    hwy::Prefetch(next + i);
    const auto e = exp(hn::Sub(At(d, x, i, n), hn::Set(d, most)));
    if constexpr (kStore) {
      if (n == static_cast<int64_t>(hn::Lanes(d))) {
        hn::StoreU(e, d, out + i);
      } else {
        StoreAsN(e, d, out + i, static_cast<size_t>(n));
      }
    }
    return e;
  });
}
template <typename T>
T ExpSum(const T* x, int64_t count, T most, T* out, const T* next) {
  return ExpSumOver<T, true>(x, count, most, out, next);
}
template <typename T>
T ExpSumAndScale(const T* x, int64_t count, T most, T* out, const T* next, const T* powers, T factor, T* scaled) {
  const NegativeExpOp<T> exp;
  return SumOver<T>(count, [=](auto d, int64_t i, int64_t n) HWY_ATTR {
    hwy::Prefetch(next + i);
    const auto e = exp(hn::Sub(At(d, x, i, n), hn::Set(d, most)));
    const auto done = hn::Mul(At(d, powers, i, n), hn::Set(d, factor));
    if (n == static_cast<int64_t>(hn::Lanes(d))) {
      hn::StoreU(e, d, out + i);
      hn::Stream(done, d, scaled + i);
    } else {
      StoreAsN(e, d, out + i, static_cast<size_t>(n));
      StoreAsN(done, d, scaled + i, static_cast<size_t>(n));
    }
    return e;
  });
}
template <typename T>
T ExpOnlySum(const T* x, int64_t count, T most, const T* next) {
  return ExpSumOver<T, false>(x, count, most, nullptr, next);
}

// The largest (or smallest) element, or NaN if there is one.
template <typename T, bool kMax>
T Extreme(const T* x, int64_t count) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto better = [](auto a, auto b) HWY_ATTR { return kMax ? hn::Max(a, b) : hn::Min(a, b); };
  auto a = hn::Set(d, x[0]), b = a, c = a, e = a;
  auto bad = hn::IsNaN(a);
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    const auto v0 = hn::LoadU(d, x + i), v1 = hn::LoadU(d, x + i + lanes);
    const auto v2 = hn::LoadU(d, x + i + 2 * lanes), v3 = hn::LoadU(d, x + i + 3 * lanes);
    a = better(a, v0);
    b = better(b, v1);
    c = better(c, v2);
    e = better(e, v3);
    bad = hn::Or(bad, hn::Or(hn::Or(hn::IsNaN(v0), hn::IsNaN(v1)), hn::Or(hn::IsNaN(v2), hn::IsNaN(v3))));
  }
  for (; i < count; i += lanes) {
    const int64_t n = HWY_MIN(lanes, count - i);
    const auto v = hn::IfThenElse(hn::FirstN(d, static_cast<size_t>(n)), At(d, x, i, n), hn::Set(d, x[0]));
    a = better(a, v);
    bad = hn::Or(bad, hn::IsNaN(v));
  }
  if (!hn::AllFalse(d, bad)) return std::numeric_limits<T>::quiet_NaN();
  const auto best = better(better(a, b), better(c, e));
  return kMax ? LargestLane(d, best) : SmallestLane(d, best);
}

template <typename T>
T Peak(const T* x, int64_t count) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto a = hn::Set(d, x[0]), b = a, c = a, e = a;
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    a = hn::Max(a, hn::LoadU(d, x + i));
    b = hn::Max(b, hn::LoadU(d, x + i + lanes));
    c = hn::Max(c, hn::LoadU(d, x + i + 2 * lanes));
    e = hn::Max(e, hn::LoadU(d, x + i + 3 * lanes));
  }
  for (; i < count; i += lanes) {
    const int64_t n = HWY_MIN(lanes, count - i);
    a = hn::Max(a, hn::IfThenElse(hn::FirstN(d, static_cast<size_t>(n)), At(d, x, i, n), hn::Set(d, x[0])));
  }
  return LargestLane(d, hn::Max(hn::Max(a, b), hn::Max(c, e)));
}

template <typename T>
int64_t Find(const T* x, int64_t count, T value) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto wanted = hn::Set(d, value);
  const bool nan = value != value;
  const auto matches = [=](auto v) HWY_ATTR { return nan ? hn::IsNaN(v) : hn::Eq(v, wanted); };
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    const auto a = matches(hn::LoadU(d, x + i)), b = matches(hn::LoadU(d, x + i + lanes));
    const auto c = matches(hn::LoadU(d, x + i + 2 * lanes)), e = matches(hn::LoadU(d, x + i + 3 * lanes));
    if (!hn::AllFalse(d, hn::Or(hn::Or(a, b), hn::Or(c, e)))) break;
  }
  for (; i < count; i += lanes) {
    const int64_t n = HWY_MIN(lanes, count - i);
    const auto found = hn::And(matches(At(d, x, i, n)), hn::FirstN(d, static_cast<size_t>(n)));
    if (const auto at = hn::FindFirstTrue(d, found); at >= 0) return i + at;
  }
  return count;
}

// out[i] = value(d, i, lanes), a vector at a time.
template <typename T, class Value>
HWY_INLINE void MapRow(int64_t count, T* HWY_RESTRICT out, bool streams, const Value& value) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  if (streams) {
    for (; i + lanes <= count; i += lanes) hn::Stream(value(d, i, lanes), d, out + i);
  } else {
    for (; i + lanes <= count; i += lanes) hn::StoreU(value(d, i, lanes), d, out + i);
  }
  if (i < count) StoreAsN(value(d, i, count - i), d, out + i, static_cast<size_t>(count - i));
}

template <typename T>
void Scale(const T* x, int64_t count, T factor, T* out, bool streams) {
  MapRow(count, out, streams,
         [x, factor](auto d, int64_t i, int64_t n) HWY_ATTR { return hn::Mul(At(d, x, i, n), hn::Set(d, factor)); });
}
template <typename T>
void Subtract(const T* x, int64_t count, T first, T second, T* out, bool streams) {
  MapRow(count, out, streams, [=](auto d, int64_t i, int64_t n) HWY_ATTR {
    return hn::Sub(hn::Sub(At(d, x, i, n), hn::Set(d, first)), hn::Set(d, second));
  });
}
template <typename T>
void Normalize(const T* x, int64_t count, T first, T second, T factor, const T* weight, const T* bias, T* out,
               bool streams, const T* next) {
  const auto normal = [=](auto d, int64_t i, int64_t n) HWY_ATTR {
    hwy::Prefetch(next + i);
    return hn::Mul(hn::Sub(hn::Sub(At(d, x, i, n), hn::Set(d, first)), hn::Set(d, second)), hn::Set(d, factor));
  };
  if (weight && bias) {
    MapRow(count, out, streams, [=](auto d, int64_t i, int64_t n) HWY_ATTR {
      return hn::MulAdd(normal(d, i, n), At(d, weight, i, n), At(d, bias, i, n));
    });
  } else if (weight) {
    MapRow(count, out, streams,
           [=](auto d, int64_t i, int64_t n) HWY_ATTR { return hn::Mul(normal(d, i, n), At(d, weight, i, n)); });
  } else if (bias) {
    MapRow(count, out, streams,
           [=](auto d, int64_t i, int64_t n) HWY_ATTR { return hn::Add(normal(d, i, n), At(d, bias, i, n)); });
  } else {
    MapRow(count, out, streams, normal);
  }
}

template <typename T>
void AddRow(const T* HWY_RESTRICT row, int64_t count, T* HWY_RESTRICT total) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    const auto a = hn::Add(hn::LoadU(d, total + i), hn::LoadU(d, row + i));
    const auto b = hn::Add(hn::LoadU(d, total + i + lanes), hn::LoadU(d, row + i + lanes));
    const auto c = hn::Add(hn::LoadU(d, total + i + 2 * lanes), hn::LoadU(d, row + i + 2 * lanes));
    const auto e = hn::Add(hn::LoadU(d, total + i + 3 * lanes), hn::LoadU(d, row + i + 3 * lanes));
    hn::StoreU(a, d, total + i);
    hn::StoreU(b, d, total + i + lanes);
    hn::StoreU(c, d, total + i + 2 * lanes);
    hn::StoreU(e, d, total + i + 3 * lanes);
  }
  for (; i < count; i += lanes) {
    const auto n = static_cast<size_t>(HWY_MIN(lanes, count - i));
    StoreAsN(hn::Add(LoadAsN(d, total + i, n), LoadAsN(d, row + i, n)), d, total + i, n);
  }
}
// Keeps what is there when it is at least as good or NaN.
template <typename T, bool kMax>
void ExtremeRow(const T* HWY_RESTRICT row, int64_t count, T* HWY_RESTRICT best) {
  MapRow(count, best, false, [row, best](auto d, int64_t i, int64_t n) HWY_ATTR {
    const auto old = At(d, static_cast<const T*>(best), i, n), x = At(d, row, i, n);
    const auto good = kMax ? hn::Ge(old, x) : hn::Le(old, x);
    return hn::IfThenElse(hn::Or(good, hn::IsNaN(old)), old, x);
  });
}
// What follows is element by element and simple enough for the compiler to vectorise.
template <typename T>
void AddTotal(const T* HWY_RESTRICT row, int64_t count, double* HWY_RESTRICT total) {
  for (int64_t i = 0; i < count; ++i) total[i] += static_cast<double>(row[i]);
}
template <typename T>
void MergeColumns(const double* HWY_RESTRICT mean, const double* HWY_RESTRICT squares, int64_t count, double share,
                  double spread, double* HWY_RESTRICT total_mean, double* HWY_RESTRICT total_squares) {
  for (int64_t i = 0; i < count; ++i) {
    const double delta = mean[i] - total_mean[i];
    total_mean[i] += delta * share;
    total_squares[i] += squares[i] + delta * delta * spread;
  }
}
template <typename T>
void SquaresRows(const T* const rows[4], int64_t count, const T* HWY_RESTRICT centre, T* HWY_RESTRICT total) {
  const T *HWY_RESTRICT a = rows[0], *HWY_RESTRICT b = rows[1], *HWY_RESTRICT c = rows[2], *HWY_RESTRICT e = rows[3];
  for (int64_t i = 0; i < count; ++i) {
    const T da = a[i] - centre[i], db = b[i] - centre[i], dc = c[i] - centre[i], de = e[i] - centre[i];
    total[i] += (da * da + db * db) + (dc * dc + de * de);
  }
}
template <typename T>
void SquaresRow(const T* HWY_RESTRICT row, int64_t count, const T* HWY_RESTRICT centre, T* HWY_RESTRICT total) {
  for (int64_t i = 0; i < count; ++i) total[i] += (row[i] - centre[i]) * (row[i] - centre[i]);
}
// Calls body(first column, vectors, lanes of the last) for groups of up to four vectors, whose state stays in registers
// while the rows pass.
template <typename T, class Body>
HWY_INLINE void ForColumns(int64_t count, const Body& body) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  int64_t c = 0;
  for (; c + 4 * lanes <= count; c += 4 * lanes) body(c, std::integral_constant<int, 4>(), lanes);
  for (; c < count; c += lanes) body(c, std::integral_constant<int, 1>(), HWY_MIN(lanes, count - c));
}
template <class D, typename T>
HWY_INLINE void Put(hn::Vec<D> v, D d, T* to, int64_t n) {
  if (n == static_cast<int64_t>(hn::Lanes(d))) return hn::StoreU(v, d, to);
  StoreAsN(v, d, to, static_cast<size_t>(n));
}

template <typename T>
void CopyMaxRows(const T* x, int64_t stride, int64_t rows, int64_t count, T* copy, int64_t copy_stride, T* most) {
  constexpr int64_t kAhead = 8;
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  ForColumns<T>(count, [=](int64_t c, auto vectors, int64_t n) HWY_ATTR {
    hn::Vec<decltype(d)> best[vectors];
    for (int v = 0; v < vectors; ++v) best[v] = At(d, most, c + v * lanes, n);
    for (int64_t r = 0; r < rows; ++r) {
      const T* row = x + r * stride + c;
      const T* ahead = r + kAhead < rows ? row + kAhead * stride : row;
      for (int v = 0; v < vectors; ++v) {
        hwy::Prefetch(ahead + v * lanes);
        const auto value = At(d, row, v * lanes, n);
        Put(value, d, copy + r * copy_stride + c + v * lanes, n);
        best[v] = hn::Max(best[v], value);
      }
    }
    for (int v = 0; v < vectors; ++v) Put(best[v], d, most + c + v * lanes, n);
  });
}
template <typename T>
void ExpRows(T* x, int64_t stride, int64_t rows, int64_t count, const T* most, bool store, T* total) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const NegativeExpOp<T> exp;
  ForColumns<T>(count, [=](int64_t c, auto vectors, int64_t n) HWY_ATTR {
    hn::Vec<decltype(d)> best[vectors], sum[vectors];
    for (int v = 0; v < vectors; ++v) {
      best[v] = At(d, most, c + v * lanes, n);
      sum[v] = hn::Zero(d);
    }
    for (int64_t r = 0; r < rows; ++r) {
      T* row = x + r * stride + c;
      for (int v = 0; v < vectors; ++v) {
        const auto e = exp(hn::Sub(At(d, static_cast<const T*>(row), v * lanes, n), best[v]));
        if (store) Put(e, d, row + v * lanes, n);
        sum[v] = hn::Add(sum[v], e);
      }
    }
    for (int v = 0; v < vectors; ++v) Put(sum[v], d, total + c + v * lanes, n);
  });
}
template <typename T>
void ScaleRows(const T* x, int64_t stride, int64_t rows, int64_t count, const T* factor, T* out, int64_t out_stride,
               bool streams) {
  for (int64_t r = 0; r < rows; ++r) {
    const T* row = x + r * stride;
    MapRow(count, out + r * out_stride, streams, [row, factor](auto d, int64_t i, int64_t n) HWY_ATTR {
      return hn::Mul(At(d, row, i, n), At(d, factor, i, n));
    });
  }
}
template <typename T>
void SubtractRows(const T* x, int64_t stride, int64_t rows, int64_t count, const T* first, const T* second, T* out,
                  int64_t out_stride, bool streams) {
  for (int64_t r = 0; r < rows; ++r) {
    const T* row = x + r * stride;
    MapRow(count, out + r * out_stride, streams, [row, first, second](auto d, int64_t i, int64_t n) HWY_ATTR {
      return hn::Sub(hn::Sub(At(d, row, i, n), At(d, first, i, n)), At(d, second, i, n));
    });
  }
}

template <typename T>
const cpu::RowKernels<T>* Table() {
  static constexpr cpu::RowKernels<T> kTable = {
      .sum = Sum<T>,
      .max = Extreme<T, true>,
      .min = Extreme<T, false>,
      .peak = Peak<T>,
      .find = Find<T>,
      .moments = MomentsOf<T>,
      .exp_sum = ExpSum<T>,
      .exp_sum_and_scale = ExpSumAndScale<T>,
      .exp_only_sum = ExpOnlySum<T>,
      .scale = Scale<T>,
      .subtract = Subtract<T>,
      .normalize = Normalize<T>,
      .add_row = AddRow<T>,
      .max_row = ExtremeRow<T, true>,
      .min_row = ExtremeRow<T, false>,
      .add_total = AddTotal<T>,
      .squares_rows = SquaresRows<T>,
      .squares_row = SquaresRow<T>,
      .copy_max_rows = CopyMaxRows<T>,
      .exp_rows = ExpRows<T>,
      .scale_rows = ScaleRows<T>,
      .subtract_rows = SubtractRows<T>,
      .merge_columns = MergeColumns<T>,
  };
  return &kTable;
}

}  // namespace

const cpu::RowKernels<float>* RowKernelsF32() { return Table<float>(); }
const cpu::RowKernels<double>* RowKernelsF64() { return Table<double>(); }

}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick {
HWY_EXPORT(RowKernelsF32);
HWY_EXPORT(RowKernelsF64);
}  // namespace wick

namespace wick::cpu {

template <>
const RowKernels<float>& row_kernels<float>() {
  return *HWY_DYNAMIC_DISPATCH(RowKernelsF32)();
}
template <>
const RowKernels<double>& row_kernels<double>() {
  return *HWY_DYNAMIC_DISPATCH(RowKernelsF64)();
}

}  // namespace wick::cpu
#endif  // HWY_ONCE
