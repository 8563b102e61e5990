#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "ops/ops.h"
#include "support/compare.h"
#include "support/devices.h"
#include "support/targets.h"
#include "tensor/create.h"

namespace wick {

inline const std::vector<DType>& float_dtypes() {
  static const std::vector<DType> dtypes = {DType::kF32, DType::kF64, DType::kF16, DType::kBF16};
  return dtypes;
}
inline const std::vector<DType>& integer_dtypes() {
  static const std::vector<DType> dtypes = {DType::kI64, DType::kI32, DType::kU32, DType::kU8, DType::kI8};
  return dtypes;
}
inline std::vector<DType> all_dtypes() {
  std::vector<DType> dtypes = float_dtypes();
  dtypes.insert(dtypes.end(), integer_dtypes().begin(), integer_dtypes().end());
  return dtypes;
}

// Agreement with the reference that rounding to the dtype allows, for results computed in f32 (or f64).
inline double rounding_of(DType dtype) {
  switch (dtype) {
    case DType::kF64: return 1e-13;
    case DType::kF32: return 2e-6;
    case DType::kF16: return 1.1e-3;
    case DType::kBF16: return 8.5e-3;
    default: return 0;
  }
}

// Values of about -4 to 4 (integers -100 to 100, or 0 to 200 where there is no sign).
inline Tensor sample(const Shape& shape, uint64_t seed, DType dtype) {
  if (is_float(dtype)) return mul(randn(shape, seed, DType::kF64), 1.5).to_dtype(dtype);
  const double low = dtype == DType::kU8 || dtype == DType::kU32 ? 0 : -100;
  return floor(add(mul(rand(shape, seed, DType::kF64), 200.0), low)).to_dtype(dtype);
}

// A tensor of the host with the same bytes and layout on another device.
inline Tensor moved(const Tensor& x, Device device) {
  if (!x.defined()) return x;
  const auto bytes = static_cast<int64_t>(x.storage()->bytes());
  const Tensor whole = from_span<uint8_t>(
      {reinterpret_cast<const uint8_t*>(x.storage()->data()), static_cast<size_t>(bytes)}, {bytes}, device);
  return Tensor(whole.storage(), x.layout(), x.dtype());
}
inline Tensor on_reference(const Tensor& x) { return moved(x, Device::reference()); }

using Inputs = std::vector<Tensor>;
using Function = std::function<Tensor(const Inputs&)>;

inline Inputs moved(const Inputs& inputs, Device device) {
  Inputs there;
  for (const Tensor& input : inputs) there.push_back(moved(input, device));
  return there;
}

// Runs `function` on every device, with the same bytes and strides, and compares with the reference.
inline void expect_like_reference(const Function& function, const Inputs& inputs, double tolerance,
                                  const std::string& what) {
  const Tensor expected = function(moved(inputs, Device::reference()));
  for (const Device device : tuned_devices()) {
    expect_close(function(device == Device::cpu() ? inputs : moved(inputs, device)), expected, tolerance,
                 cat(what, " on ", device));
  }
}

// Expects the same bits with 1 to 4 threads.
inline void expect_same_for_any_threads(const std::function<Tensor()>& function, const std::string& what) {
  const int before = ThreadPool::instance().size();
  ThreadPool::instance().resize(1);
  const Tensor expected = function();
  for (const int threads : {2, 3, 4}) {
    ThreadPool::instance().resize(threads);
    expect_identical(function(), expected, what + " with " + std::to_string(threads) + " threads");
  }
  ThreadPool::instance().resize(before);
}

// Layouts of one shape that are awkward in different ways: dense, transposed, every second column, flipped, a row
// repeated, a column repeated, one element repeated, and starting off alignment.
inline std::vector<Tensor> awkward_views(int64_t rows, int64_t cols, uint64_t seed, DType dtype) {
  const Tensor wide = sample({rows, 2 * cols + 1}, seed, dtype);
  const Tensor strided = wide.with_layout([&] {
    Layout layout = wide.layout().narrow(1, 0, cols);
    layout.strides[1] = 2;
    return layout;
  }());
  return {sample({rows, cols}, seed, dtype),
          transpose(sample({cols, rows}, seed, dtype), 0, 1),
          strided,
          flip(sample({rows, cols}, seed, dtype), {1}),
          flip(sample({rows, cols}, seed, dtype), {0}),
          broadcast_as(sample({1, cols}, seed, dtype), {rows, cols}),
          broadcast_as(sample({rows, 1}, seed, dtype), {rows, cols}),
          broadcast_as(sample({1, 1}, seed, dtype), {rows, cols}),
          narrow(wide, 1, 1, cols)};
}

}  // namespace wick
