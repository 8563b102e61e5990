// The element-wise kernels against the reference: values, layouts, special values, positions, threads.
#include <cmath>
#include <limits>

#include "ops/kernel_table.h"
#include "support/kernel_cases.h"

namespace wick {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Tensor run_unary(UnaryOp op, const Tensor& x) {
  Tensor out = empty(x.shape(), x.dtype(), x.device());
  x.device().kernels().unary(op, x, out);
  return out;
}
Tensor run_binary(BinaryOp op, const Tensor& a, const Tensor& b) {
  Tensor out = empty(a.shape(), a.dtype(), a.device());
  a.device().kernels().binary(op, a, b, out);
  return out;
}
Tensor run_compare(CompareOp op, const Tensor& a, const Tensor& b) {
  Tensor out = empty(a.shape(), DType::kU8, a.device());
  a.device().kernels().compare(op, a, b, out);
  return out;
}

std::string name(const char* kind, int op, DType dtype) {
  return std::string(kind) + " " + std::to_string(op) + " " + std::string(to_string(dtype));
}

constexpr int kUnaryOps = static_cast<int>(UnaryOp::kRound) + 1;
constexpr int kBinaryOps = static_cast<int>(BinaryOp::kMinimum) + 1;
constexpr int kCompareOps = static_cast<int>(CompareOp::kGe) + 1;

bool takes_integers(UnaryOp op) {
  return op == UnaryOp::kNeg || op == UnaryOp::kAbs || op == UnaryOp::kSqr || op == UnaryOp::kRelu ||
         op >= UnaryOp::kFloor;
}

// Relative error, unlike expect_close, also below 1.
void expect_relatively_close(const Tensor& actual, const Tensor& expected, const Tensor& x, double tolerance,
                             double ignore_below, const std::string& what) {
  const auto got = actual.to_vector<double>(), want = expected.to_vector<double>(), at = x.to_vector<double>();
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i]))) continue;
    if (std::abs(want[i]) < ignore_below && std::abs(got[i]) <= ignore_below) continue;
    ASSERT_LE(std::abs(got[i] - want[i]), tolerance * std::abs(want[i]))
        << what << "(" << at[i] << "): got " << got[i] << ", expected " << want[i];
  }
}

TEST(ElementwiseKernels, UnaryOnAwkwardSizesAndLayouts) {
  on_every_target([](const std::string&) {
    for (int op = 0; op < kUnaryOps; ++op) {
      const auto code = static_cast<UnaryOp>(op);
      for (const DType dtype : all_dtypes()) {
        if (is_integer(dtype) && !takes_integers(code)) continue;
        const Function function = [&](const Inputs& in) { return run_unary(code, in[0]); };
        for (const int64_t size : {0, 1, 3, 17, 65}) {
          expect_like_reference(function, {sample({size}, size, dtype)}, rounding_of(dtype), name("unary", op, dtype));
        }
        for (const Tensor& x : awkward_views(7, 13, op, dtype)) {
          expect_like_reference(function, {x}, rounding_of(dtype), name("unary", op, dtype));
        }
      }
    }
  });
}

TEST(ElementwiseKernels, UnaryIsAccurateOverTheWholeRange) {
  std::vector<double> points = {0.0, -0.0, kInfinity, -kInfinity, kNaN, 1e-40, -1e-40, 1e-45, 3.4e38, -3.4e38};
  for (double size = 1e-38; size < 1e38; size *= 1.37) points.insert(points.end(), {size, -size});
  for (int i = -12000; i <= 12000; ++i) points.push_back(i * 0.009 + 1e-4);
  for (int i = -9000; i <= 9000; ++i) points.push_back(i * 1.37);
  on_every_target([&](const std::string&) {
    for (const DType dtype : {DType::kF32, DType::kF64}) {
      const Tensor x = from_vector(points, {static_cast<int64_t>(points.size())}).to_dtype(dtype);
      for (int op = 0; op < kUnaryOps; ++op) {
        const auto code = static_cast<UnaryOp>(op);
        const Tensor want = run_unary(code, on_reference(x));
        const double tolerance = dtype == DType::kF32 ? 6e-7 : 2e-15;
        // Subnormal results have fewer digits, or are flushed; the others may cancel, so only the absolute error
        // counts.
        double ignore = dtype == DType::kF32 ? 1.2e-36 : 1e-304;
        if (code == UnaryOp::kGeluTanh || code == UnaryOp::kGelu) ignore = kInfinity;
        if (code == UnaryOp::kSin || code == UnaryOp::kCos) ignore = dtype == DType::kF32 ? 3e-4 : 1e-13;
        for (const Device device : tuned_devices()) {
          const Tensor got = run_unary(code, x.to_device(device));
          const std::string what = cat(name("unary", op, dtype), " on ", device);
          expect_relatively_close(got, want, x, tolerance, ignore, what);
          expect_close(got, want, dtype == DType::kF32 ? 6e-7 : 1e-14, what);
        }
      }
    }
  });
}

TEST(ElementwiseKernels, BinaryOnAwkwardLayouts) {
  on_every_target([](const std::string&) {
    for (int op = 0; op < kBinaryOps; ++op) {
      const auto code = static_cast<BinaryOp>(op);
      for (const DType dtype : all_dtypes()) {
        if (is_integer(dtype) && code == BinaryOp::kDiv) continue;
        const Function function = [&](const Inputs& in) { return run_binary(code, in[0], in[1]); };
        double tolerance = rounding_of(dtype);
        if (code == BinaryOp::kPow && dtype == DType::kF64) tolerance = 1e-12;
        const auto left = awkward_views(5, 19, op, dtype), right = awkward_views(5, 19, op + 50, dtype);
        for (size_t i = 0; i < left.size(); ++i) {
          for (size_t j = 0; j < right.size(); ++j) {
            expect_like_reference(
                function, {left[i], right[j]}, tolerance,
                name("binary", op, dtype) + " of views " + std::to_string(i) + ", " + std::to_string(j));
          }
        }
      }
    }
  });
}

TEST(ElementwiseKernels, BinaryOfLongAndShortRows) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kI32}) {
    const Function function = [](const Inputs& in) { return run_binary(BinaryOp::kSub, in[0], in[1]); };
    const auto check = [&](const Shape& a, const Shape& b, const Shape& out) {
      expect_like_reference(function, {broadcast_as(sample(a, 1, dtype), out), broadcast_as(sample(b, 2, dtype), out)},
                            rounding_of(dtype), "sub");
    };
    check({700, 8}, {8}, {700, 8});
    check({64, 33, 7}, {33, 1}, {64, 33, 7});
    check({3, 4099}, {3, 1}, {3, 4099});
    check({4099}, {3, 1}, {3, 4099});
    check({9, 300}, {300}, {9, 300});
    check({1}, {2, 5, 1, 200}, {2, 5, 3, 200});
  }
}

TEST(ElementwiseKernels, PowerAndExtremesOfSpecialValues) {
  const std::vector<double> values = {0.0,  -0.0, 1.0,   -1.0,  2.0,  -2.0,      0.5,        3.0,
                                      -3.0, 7.5,  -40.0, 1e-42, 1e30, kInfinity, -kInfinity, kNaN};
  const auto n = static_cast<int64_t>(values.size());
  on_every_target([&](const std::string&) {
    for (const DType dtype : float_dtypes()) {
      const Tensor column = from_vector(values, {n, 1}).to_dtype(dtype),
                   row = from_vector(values, {1, n}).to_dtype(dtype);
      for (const BinaryOp op : {BinaryOp::kPow, BinaryOp::kMaximum, BinaryOp::kMinimum, BinaryOp::kDiv}) {
        expect_like_reference([&](const Inputs& in) { return run_binary(op, in[0], in[1]); },
                              {broadcast_as(column, {n, n}), broadcast_as(row, {n, n})}, rounding_of(dtype),
                              name("binary", static_cast<int>(op), dtype));
      }
      for (int op = 0; op < kCompareOps; ++op) {
        expect_like_reference([&](const Inputs& in) { return run_compare(static_cast<CompareOp>(op), in[0], in[1]); },
                              {broadcast_as(column, {n, n}), broadcast_as(row, {n, n})}, 0, name("compare", op, dtype));
      }
    }
  });
}

TEST(ElementwiseKernels, CompareWhereAndClamp) {
  for (const DType dtype : all_dtypes()) {
    const auto left = awkward_views(6, 23, 1, dtype), right = awkward_views(6, 23, 2, dtype);
    const auto chosen = awkward_views(6, 23, 3, DType::kU8);
    for (size_t i = 0; i < left.size(); ++i) {
      const Tensor &a = left[i], &b = right[(i + 3) % right.size()];
      for (int op = 0; op < kCompareOps; ++op) {
        expect_like_reference([&](const Inputs& in) { return run_compare(static_cast<CompareOp>(op), in[0], in[1]); },
                              {a, b}, 0, name("compare", op, dtype));
      }
      const Tensor condition = gt(chosen[(i + 5) % chosen.size()], 100.0);
      expect_like_reference([](const Inputs& in) { return where(in[0], in[1], in[2]); }, {gt(chosen[i], 100.0), a, b},
                            0, name("where", 0, dtype));
      expect_like_reference([](const Inputs& in) { return where(in[0], in[1], in[2]); }, {condition, b, a}, 0,
                            name("where", 1, dtype));
      expect_like_reference([](const Inputs& in) { return clamp(in[0], 1, 3); }, {a}, 0, name("clamp", 0, dtype));
    }
  }
  const Tensor special = tensor<double>({kNaN, kInfinity, -kInfinity, -0.0, 2});
  for (const DType dtype : float_dtypes()) {
    expect_like_reference([](const Inputs& in) { return clamp(in[0], -1, 1); }, {special.to_dtype(dtype)}, 0, "clamp");
  }
}

// An element's value depends neither on where it stands nor on what stands beside it.
TEST(ElementwiseKernels, ElementsAloneEqualElementsInALongVector) {
  for (const DType dtype : float_dtypes()) {
    const Tensor x = sample({4099}, 5, dtype), y = sample({4099}, 6, dtype);
    for (int op = 0; op < kUnaryOps; ++op) {
      const Tensor all = run_unary(static_cast<UnaryOp>(op), x);
      for (const int64_t start : {0, 1, 15, 1023, 4090}) {
        for (const int64_t count : {1, 9}) {
          expect_identical(run_unary(static_cast<UnaryOp>(op), narrow(x, 0, start, count)),
                           narrow(all, 0, start, count), name("unary", op, dtype));
        }
      }
    }
    const Tensor powers = run_binary(BinaryOp::kPow, abs(x), y);
    for (const int64_t start : {0, 7, 4098}) {
      expect_identical(run_binary(BinaryOp::kPow, abs(narrow(x, 0, start, 1)), narrow(y, 0, start, 1)),
                       narrow(powers, 0, start, 1), "pow");
    }
  }
}

TEST(ElementwiseKernels, SameBitsForAnyNumberOfThreads) {
  const Tensor x = sample({3, 40001}, 8, DType::kF32), row = sample({40001}, 9, DType::kF32);
  expect_same_for_any_threads([&] { return gelu(x); }, "gelu");
  expect_same_for_any_threads([&] { return exp(transpose(x, 0, 1)); }, "exp");
  expect_same_for_any_threads([&] { return div(x, row); }, "div");
}

// Results beyond the last-level cache are written past it.
TEST(ElementwiseKernels, StreamedResults) {
  const int64_t size = (int64_t{33} << 20) / 4 + 3;
  const Tensor x = arange(0, static_cast<double>(size));
  const Tensor y = neg(x), z = add(narrow(x, 0, 1, size - 1), 1.0);
  for (int64_t i = 0; i < size; i += 1237) ASSERT_EQ(y.data<float>()[i], -x.data<float>()[i]);
  for (int64_t i = 0; i + 1 < size; i += 1237) ASSERT_EQ(z.data<float>()[i], x.data<float>()[i + 1] + 1);
  ASSERT_EQ(y.data<float>()[size - 1], -x.data<float>()[size - 1]);
  const Tensor base = add(rand({size}, 4), 0.5), powers = pow(base, base), waves = tanh(base);
  for (const int64_t start : {int64_t{0}, size / 2, size - 40}) {
    const Tensor part = narrow(base, 0, start, 40);
    expect_identical(pow(part, part), narrow(powers, 0, start, 40), "pow");
    expect_identical(tanh(part), narrow(waves, 0, start, 40), "tanh");
  }
}

}  // namespace
}  // namespace wick
