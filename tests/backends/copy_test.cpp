// Copies against the reference: every pair of dtypes, transposed and strided on either side.
#include <limits>

#include "ops/kernel_table.h"
#include "support/kernel_cases.h"

namespace wick {
namespace {

TEST(CopyKernels, EveryPairOfDTypes) {
  on_every_target([](const std::string&) {
    for (const DType from : all_dtypes()) {
      for (const DType to : all_dtypes()) {
        for (const Tensor& x : awkward_views(5, 37, 1, from)) {
          expect_like_reference([&](const Inputs& in) { return in[0].to_dtype(to); }, {x}, 0,
                                std::string(to_string(from)) + " to " + std::string(to_string(to)));
        }
      }
    }
  });
}

TEST(CopyKernels, SpecialValues) {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> values = {0.0,    -0.0,   infinity, -infinity, nan,    1e-8, 6e-8, -6.1e-5, 65504,  65520,
                                1e39,   -1e39,  300.7,    -300.7,    255.5,  -0.9, 3e9,  -3e9,    1e19,   -1e19,
                                2049.0, 2051.0, 1e-40,    3.0e38,    3.4e38, 0.1,  1.0,  1e300,   1e-300, 5e-324};
  const Tensor x = from_vector(values, {static_cast<int64_t>(values.size())});
  on_every_target([&](const std::string&) {
    for (const DType from : float_dtypes()) {
      for (const DType to : all_dtypes()) {
        expect_like_reference([&](const Inputs& in) { return in[0].to_dtype(to); }, {x.to_dtype(from)}, 0,
                              std::string(to_string(from)) + " to " + std::string(to_string(to)));
      }
    }
  });
}

TEST(CopyKernels, ContiguousOfAnyPermutation) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kU8}) {
    const Tensor x = sample({5, 17, 33, 9}, 1, dtype);
    for (const std::vector<int64_t>& order :
         {std::vector<int64_t>{3, 2, 1, 0}, {0, 2, 1, 3}, {0, 1, 3, 2}, {2, 3, 0, 1}, {1, 3, 2, 0}}) {
      expect_like_reference([&](const Inputs& in) { return permute(in[0], order).contiguous(); }, {x}, 0, "permute");
      expect_like_reference(
          [&](const Inputs& in) {
            return permute(flip(in[0], {1, 3}), order).contiguous();
          },
          {x}, 0, "flip and permute");
    }
  }
  for (const Shape& shape : {Shape{1, 1}, Shape{8, 8}, Shape{65, 130}, Shape{7, 300}, Shape{1023, 9}, Shape{64, 64}}) {
    expect_like_reference([](const Inputs& in) { return transpose(in[0], 0, 1).contiguous(); },
                          {sample(shape, 2, DType::kF32)}, 0, "transpose of " + to_string(shape));
  }
}

TEST(CopyKernels, IntoAnyLayout) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kI8}) {
    const Tensor x = sample({40, 70}, 1, DType::kF32);
    const auto targets = [&](const Tensor& base) {
      return std::vector<Tensor>{base,
                                 transpose(base, 0, 1),
                                 flip(base, {0}),
                                 transpose(flip(base, {1}), 0, 1),
                                 narrow(base, 1, 3, 50),
                                 narrow(transpose(base, 0, 1), 0, 1, 30)};
    };
    const Tensor mine = zeros({70, 70}, dtype), theirs = on_reference(mine);
    const auto to = targets(mine), reference_to = targets(theirs);
    for (size_t i = 0; i < to.size(); ++i) {
      const Tensor values = sample(to[i].shape(), i, DType::kF32);
      for (const Tensor& from : {values, transpose(sample({to[i].dim(1), to[i].dim(0)}, i, dtype), 0, 1)}) {
        cpu_kernels().copy(from, to[i]);
        reference_kernels().copy(on_reference(from), reference_to[i]);
        expect_identical(mine, theirs, "copy into view " + std::to_string(i));
      }
    }
  }
}

// Results beyond the last-level cache are written past it, in blocks.
TEST(CopyKernels, StreamedTransposition) {
  const int64_t rows = 2912, columns = 2901;
  const Tensor x = rand({rows, columns}, 1), y = transpose(x, 0, 1).contiguous();
  for (int64_t i = 0; i < columns; ++i) {
    for (int64_t j = 0; j < rows; ++j) ASSERT_EQ(y.data<float>()[i * rows + j], x.data<float>()[j * columns + i]);
  }
}

}  // namespace
}  // namespace wick
