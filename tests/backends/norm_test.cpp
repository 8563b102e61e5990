// layer_norm, rms_norm and rope against the reference.
#include "support/kernel_cases.h"

namespace wick {
namespace {

TEST(NormKernels, EveryFloatAndAwkwardView) {
  on_every_target([](const std::string&) {
    for (const DType dtype : float_dtypes()) {
      for (const Tensor& x : awkward_views(9, 67, 3, dtype)) {
        const Tensor weight = sample({67}, 1, DType::kF32), bias = sample({67}, 2, dtype);
        const double tolerance = dtype == DType::kF64 ? 1e-11 : rounding_of(dtype) * 2;
        expect_like_reference([](const Inputs& in) { return layer_norm(in[0], in[1], in[2], 1e-5f); },
                              {x, weight, bias}, tolerance, "layer_norm");
        expect_like_reference([](const Inputs& in) { return layer_norm(in[0], in[1], Tensor(), 1e-5f); }, {x, weight},
                              tolerance, "layer_norm without bias");
        expect_like_reference([](const Inputs& in) { return layer_norm(in[0], Tensor(), in[1], 1e-5f); }, {x, bias},
                              tolerance, "layer_norm without weight");
        expect_like_reference([](const Inputs& in) { return rms_norm(in[0], in[1], 1e-6f); }, {x, flip(weight, {0})},
                              tolerance, "rms_norm");
        expect_like_reference([](const Inputs& in) { return rms_norm(in[0], Tensor(), 1e-6f); }, {x}, tolerance,
                              "rms_norm without weight");
      }
    }
  });
}

TEST(NormKernels, AwkwardShapesAndOffsets) {
  for (const Shape& shape : {Shape{0, 4}, Shape{1}, Shape{3, 1}, Shape{2, 3, 17}, Shape{2, 4099}, Shape{3, 9000}}) {
    const Tensor x = add(sample(shape, 5, DType::kF32), 100.0), weight = sample({shape.back()}, 6, DType::kF32);
    expect_like_reference([](const Inputs& in) { return layer_norm(in[0], in[1], in[1], 1e-5f); }, {x, weight}, 2e-5,
                          to_string(shape));
    expect_like_reference([](const Inputs& in) { return rms_norm(in[0], in[1], 1e-5f); }, {x, weight}, 2e-6,
                          to_string(shape));
  }
}

TEST(NormKernels, RowsDoNotDependOnThreadsOrOtherRows) {
  const Tensor x = sample({50, 5001}, 3, DType::kF32), weight = sample({5001}, 4, DType::kF32);
  expect_same_for_any_threads([&] { return layer_norm(x, weight, weight, 1e-5f); }, "layer_norm");
  expect_same_for_any_threads([&] { return rms_norm(x, weight, 1e-5f); }, "rms_norm");
  const Tensor all = rms_norm(x, weight, 1e-5f);
  for (const int64_t row : {0, 7, 49}) {
    expect_identical(rms_norm(narrow(x, 0, row, 1), weight, 1e-5f), narrow(all, 0, row, 1), "one row");
  }
}

TEST(CpuRope, EveryFloatBothPairingsAndViews) {
  for (const DType dtype : float_dtypes()) {
    for (const bool interleaved : {false, true}) {
      for (const int64_t pairs : {0, 1, 5, 8, 16}) {
        const Tensor cos = sample({7, pairs}, 1, DType::kF32), sin = sample({7, pairs}, 2, DType::kF32);
        const Function function = [&](const Inputs& in) { return rope(in[0], in[1], in[2], interleaved); };
        expect_like_reference(function, {sample({2, 3, 7, 33}, 3, dtype), cos, sin}, rounding_of(dtype), "rope");
        expect_like_reference(function, {transpose(sample({2, 7, 3, 32}, 3, dtype), 1, 2), cos, sin},
                              rounding_of(dtype), "rope of a transposed view");
        expect_like_reference(function, {flip(sample({7, 33}, 3, dtype), {1}), flip(cos, {0}), sin}, rounding_of(dtype),
                              "rope of a flipped view");
      }
    }
  }
  const Tensor x = sample({8, 500, 64}, 3, DType::kF32);
  const Tensor cos = sample({500, 32}, 1, DType::kF32), sin = sample({500, 32}, 2, DType::kF32);
  expect_same_for_any_threads([&] { return rope(x, cos, sin, false); }, "rope");
}

}  // namespace
}  // namespace wick
