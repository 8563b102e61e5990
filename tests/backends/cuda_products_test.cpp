// Products on CUDA, of weights as they are and packed, against the reference.
#if WICK_CUDA
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "quant/format.h"
#include "support/kernel_cases.h"
#include "support/needs_cuda.h"
#include "support/packed_weights.h"

namespace wick {
namespace {

class CudaProducts : public NeedsCuda<> {};

void compare(const Function& function, const Inputs& inputs, double tolerance, const std::string& what) {
  expect_close(function(moved(inputs, Device::cuda())), function(moved(inputs, Device::reference())), tolerance, what);
}

double product_tolerance(DType a, DType b, int64_t k) {
  const double sum = std::sqrt(static_cast<double>(k) + 1);
  if (a == DType::kF64 || b == DType::kF64) return 2e-15 * (10 + sum);
  // f32 meets f16 or bf16 in that dtype.
  if (a == DType::kF32 && b == DType::kF16) return 1e-3 * sum;
  if (a == DType::kF32 && b == DType::kBF16) return 8e-3 * sum;
  if (a == DType::kF32 || b == DType::kF32 || a != b) return 2e-6 * (2 + sum);
  return (a == DType::kF16 ? 1.0 / 1024 : 1.0 / 128) + 1e-5 * sum;
}

TEST_F(CudaProducts, Matmul) {
  for (const DType x : float_dtypes()) {
    for (const DType y : float_dtypes()) {
      for (const auto& [m, k, n] : {std::array<int64_t, 3>{1, 64, 65},
                                    {3, 600, 67},
                                    {8, 1032, 17},
                                    {9, 512, 37},
                                    {19, 67, 35},
                                    {65, 536, 20},
                                    {140, 136, 30},
                                    {1, 2052, 130},
                                    {1, 1, 1}}) {
        const Tensor a = randn({m, k}, 3, x), rows = randn({k, n}, 4, y), weights = randn({n, k}, 5, y);
        const std::string what = cat(to_string(x), " x ", to_string(y), " ", m, " ", k, " ", n);
        compare([](const Inputs& in) { return matmul(in[0], in[1]); }, {a, rows}, product_tolerance(x, y, k), what);
        compare([](const Inputs& in) { return matmul(in[0], transpose(in[1], 0, 1)); }, {a, weights},
                product_tolerance(x, y, k), cat(what, " transposed"));
      }
    }
  }
  const Tensor a = randn({3, 2, 5, 33}, 9), b = randn({3, 1, 33, 19}, 10);
  compare([](const Inputs& in) { return matmul(in[0], in[1]); }, {a, b}, 2e-5, "batches");
  compare([](const Inputs& in) { return matmul(in[0], flip(in[1], {0})); }, {a, randn({33, 19}, 11)}, 2e-5, "flipped");
  expect_identical(matmul(zeros({3, 0}).to_device(Device::cuda()), zeros({0, 4}).to_device(Device::cuda())),
                   zeros({3, 4}), "k = 0");
}

TEST_F(CudaProducts, ARowOfAProductDoesNotDependOnTheOthers) {
  for (const auto& [x, y] : {std::pair{DType::kF32, DType::kF32},
                             {DType::kF32, DType::kBF16},
                             {DType::kBF16, DType::kBF16},
                             {DType::kF16, DType::kF16}}) {
    for (const int64_t k : {536, 4096}) {
      const Tensor a = randn({300, k}, 15, x).to_device(Device::cuda());
      // Many columns fill the device with large tiles, few do not.
      for (const int64_t n : {200, 6200}) {
        const Tensor w = transpose(randn({n, k}, 16, y).to_device(Device::cuda()), 0, 1);
        const Tensor all = matmul(a, w).to_device(Device::cpu());
        for (const int64_t m : {1, 2, 5, 8, 9, 16, 17, 33, 63, 64, 65, 128, 129, 200}) {
          for (const int64_t first : {0, 37, 99}) {
            expect_identical(matmul(narrow(a, 0, first, m), w), narrow(all, 0, first, m).contiguous(),
                             cat(to_string(x), " x ", to_string(y), " k ", k, " n ", n, ": ", m, " rows from ", first));
          }
        }
      }
    }
  }
}

// x w^T on the device against what the CPU makes of the same codes, or of the weights in f32.
void expect_product(const Tensor& got, const Tensor& x, const Tensor& w, const std::string& what) {
  const bool codes = rounds_activations(w.dtype());  // others multiply f16 numbers
  const Tensor want = matmul(x, transpose(codes ? w : w.to_dtype(DType::kF32), 0, 1)).to_dtype(DType::kF64);
  const double spread = std::sqrt(mean(sqr(want)).item());
  expect_close(div(got.to_device(Device::cpu()).to_dtype(DType::kF64), spread), div(want, spread), codes ? 1e-5 : 4e-3,
               what);
}

TEST_F(CudaProducts, PackedWeights) {
  for (const DType dtype : packed_dtypes()) {
    const std::string name(to_string(dtype));
    // Fewer blocks of 256 columns than parts of k, parts that are not full, rows that do not fill the last block.
    for (const int64_t k : {256, 1280, 2048, block_weights(dtype) == 32 ? 416 : 2560}) {
      const Tensor w = packed_weights(67, k, dtype, 5), there = w.to_device(Device::cuda());
      expect_identical(there.to_dtype(DType::kF32), w.to_dtype(DType::kF32), name + " decoded");
      const Tensor x = mul(randn({150, k}, 11), 3.0), x_there = x.to_device(Device::cuda());
      const Tensor all = matmul(x_there, transpose(there, 0, 1));
      expect_product(all, x, w, name);
      for (const int64_t rows : {1, 2, 5, 8, 11, 16, 17, 40, 64, 65, 130}) {
        const Tensor part = matmul(narrow(x_there, 0, 3, rows), transpose(there, 0, 1));
        expect_identical(part, narrow(all, 0, 3, rows).contiguous(), cat(name, ": ", rows, " rows, k ", k));
      }
    }
    const Tensor rows = from_vector(std::vector<int64_t>{5, 0, 66, 5}, {4});
    const Tensor w = packed_weights(67, 256, dtype, 6);
    expect_identical(embedding(rows.to_device(Device::cuda()), w.to_device(Device::cuda())), embedding(rows, w),
                     name + " rows");
  }
}

// Activations of any size keep their precision.
TEST_F(CudaProducts, PackedWeightsTakeLargeAndSmallActivations) {
  for (const DType dtype : {DType::kQ4_K, DType::kQ8_0, DType::kQ2_K}) {
    const Tensor w = packed_weights(40, 512, dtype, 7);
    for (const double size : {1e-12, 1.0, 1e6, 1e20}) {
      const Tensor x = mul(randn({3, 512}, 8), size);
      const Tensor got = matmul(x.to_device(Device::cuda()), transpose(w.to_device(Device::cuda()), 0, 1));
      expect_product(got, x, w, cat(to_string(dtype), " ", size));
    }
  }
}

// An infinity or a NaN spoils its own row and no other; zeros stay zeros.
TEST_F(CudaProducts, PackedWeightsPassOnWhatIsNotFinite) {
  for (const DType dtype : {DType::kQ4_K, DType::kQ6_K, DType::kQ4_1}) {
    const Tensor w = packed_weights(40, 512, dtype, 7);
    for (const int64_t rows : {4, 20, 70}) {
      Tensor x = randn({rows, 512}, 8);
      x.mutable_data<float>()[300] = std::numeric_limits<float>::infinity();
      x.mutable_data<float>()[512 + 3] = std::numeric_limits<float>::quiet_NaN();
      std::fill_n(x.mutable_data<float>() + 2 * 512, 512, 0.0f);
      const Tensor got =
          matmul(x.to_device(Device::cuda()), transpose(w.to_device(Device::cuda()), 0, 1)).to_device(Device::cpu());
      const std::string what = cat(to_string(dtype), ", ", rows, " rows");
      for (int64_t i = 0; i < 80; ++i) EXPECT_FALSE(std::isfinite(got.data<float>()[i])) << what << " at " << i;
      for (int64_t i = 80; i < 120; ++i) EXPECT_EQ(got.data<float>()[i], 0.0f) << what << " at " << i;
      expect_product(narrow(got, 0, 3, rows - 3).contiguous(), narrow(x, 0, 3, rows - 3).contiguous(), w, what);
      // The same of a row alone.
      const Tensor there = x.to_device(Device::cuda()), weights = transpose(w.to_device(Device::cuda()), 0, 1);
      for (int64_t row = 0; row < 3; ++row) {
        const Tensor alone = matmul(narrow(there, 0, row, 1), weights).to_device(Device::cpu());
        for (int64_t i = 0; i < 40; ++i) {
          const float one = alone.data<float>()[i];
          EXPECT_TRUE(row < 2 ? !std::isfinite(one) : one == 0.0f) << what << ", row " << row << " at " << i;
        }
      }
    }
  }
}

// More rows of weights than all warps of a device take at once, and too few to give each of them some; rows in one
// piece, in several, and in pieces of which the last is shorter.
TEST_F(CudaProducts, PackedWeightsOfManyAndFewRows) {
  for (const DType dtype : {DType::kQ4_K, DType::kQ5_K, DType::kQ6_K, DType::kQ8_0}) {
    for (const auto& [n, k] : {std::pair<int64_t, int64_t>{36001, 256},
                               {5, 4096},
                               {4099, 512},
                               {3001, 2048},
                               {6001, 4352},
                               {37, 12288},
                               {5003, 5120},
                               {130, 16384},
                               {130, 16640}}) {
      const Tensor w = packed_weights(n, k, dtype, 8), x = randn({70, k}, 9), x_there = x.to_device(Device::cuda());
      const Tensor there = w.to_device(Device::cuda()), all = matmul(x_there, transpose(there, 0, 1));
      const std::string what = cat(to_string(dtype), " ", n, " x ", k);
      expect_product(narrow(all, 0, 0, 2).contiguous(), narrow(x, 0, 0, 2).contiguous(), w, what);
      for (const int64_t rows : {1, 3, 9, 33}) {
        expect_identical(matmul(narrow(x_there, 0, 0, rows), transpose(there, 0, 1)),
                         narrow(all, 0, 0, rows).contiguous(), cat(what, ": ", rows, " rows"));
      }
    }
  }
}

}  // namespace
}  // namespace wick
#endif
