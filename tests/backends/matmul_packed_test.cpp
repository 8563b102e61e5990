#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/thread_pool.h"
#include "ops/ops.h"
#include "quant/format.h"
#include "support/compare.h"
#include "support/errors.h"
#include "support/packed_weights.h"
#include "support/targets.h"
#include "tensor/create.h"

namespace wick {
namespace {

// Activations as the kernels round them: to 8 bits in blocks, scaled by the largest magnitude.
Tensor rounded_activations(const Tensor& x, int64_t block) {
  std::vector<float> values = x.to_vector<float>();
  for (size_t start = 0; start < values.size(); start += static_cast<size_t>(block)) {
    float largest = 0;
    for (int64_t i = 0; i < block; ++i) largest = std::max(largest, std::abs(values[start + i]));
    const float scale = largest / 127;
    for (int64_t i = 0; i < block && largest > 0; ++i) {
      values[start + i] = scale * std::nearbyint(values[start + i] * (1 / scale));
    }
  }
  return from_vector(values, x.shape());
}

// What the product should be, in f64, from decoded weights.
Tensor expected_product(const Tensor& x, const Tensor& w) {
  const int64_t block = block_weights(w.dtype()) == 256 ? 256 : 32;
  const Tensor seen = rounds_activations(w.dtype()) ? rounded_activations(x, block) : x;
  return matmul(seen.to_dtype(DType::kF64), transpose(w.to_dtype(DType::kF32).to_dtype(DType::kF64), 0, 1));
}

TEST(MatmulPacked, EveryFormatAtAwkwardSizesOnEveryTarget) {
  struct Case {
    int64_t rows, n, k;
  };
  on_every_target([](const std::string& target) {
    for (const DType dtype : packed_dtypes()) {
      for (const Case c : {Case{1, 65, 512}, Case{3, 7, 256}, Case{7, 33, 256}, Case{9, 17, 768}, Case{21, 40, 256}}) {
        const Tensor x = randn({c.rows, c.k}, 11), w = packed_weights(c.n, c.k, dtype, 5);
        const Tensor result = matmul(x, transpose(w, 0, 1));
        // Targets without byte shuffles decode and do not round the activations; for codebooks SSE4 does so, too.
        const std::string_view name = to_string(dtype);
        const bool codebook =
            name.starts_with("iq1") || name.starts_with("iq2") || name.starts_with("iq3") || name.starts_with("tq");
        const bool plain = target == "EMU128" || target == "SCALAR" || (target == "SSE4" && codebook);
        const Tensor expected = plain ? matmul(x, transpose(w.to_dtype(DType::kF32), 0, 1)) : expected_product(x, w);
        expect_close(result, expected.to_dtype(DType::kF32), 2e-5,
                     cat(dtype, " ", c.rows, " x ", c.k, " x ", c.n, " on ", target));
      }
    }
  });
}

TEST(MatmulPacked, RowsDoNotDependOnTheirNumberOrTheThreads) {
  on_every_target([](const std::string& target) {
    for (const DType dtype : packed_dtypes()) {
      const Tensor x = randn({19, 512}, 3), w = transpose(packed_weights(50, 512, dtype, 9), 0, 1);
      ThreadPool::instance().resize(2);
      const Tensor all = matmul(x, w);
      ThreadPool::instance().resize(1);
      for (const int64_t rows : {1, 2, 3, 4, 5, 7, 8, 11}) {
        for (const int64_t first : {0, 8}) {
          expect_identical(matmul(narrow(x, 0, first, rows), w), narrow(all, 0, first, rows).contiguous(),
                           cat(dtype, " rows ", first, " + ", rows, " on ", target));
        }
      }
    }
  });
  ThreadPool::instance().resize(2);
}

TEST(MatmulPacked, HalfActivationsGiveHalfResults) {
  const Tensor x = randn({5, 256}, 1), w = packed_weights(24, 256, DType::kQ4_K, 2);
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const Tensor halves = x.to_dtype(dtype);
    const Tensor result = matmul(halves, transpose(w, 0, 1));
    EXPECT_EQ(result.dtype(), dtype);
    expect_identical(result, matmul(halves.to_dtype(DType::kF32), transpose(w, 0, 1)).to_dtype(dtype), "halves");
  }
}

TEST(MatmulPacked, ErrorOfTheRoundingIsSmall) {
  const Tensor x = randn({4, 1024}, 1);
  for (const DType dtype : {DType::kQ4_0, DType::kQ8_0, DType::kQ4_K, DType::kQ6_K}) {
    const Tensor w = packed_weights(128, 1024, dtype, 2);
    const Tensor exact = matmul(x, transpose(w.to_dtype(DType::kF32), 0, 1));
    const Tensor difference = sub(matmul(x, transpose(w, 0, 1)), exact);
    const double relative = std::sqrt(sum(sqr(difference)).item() / sum(sqr(exact)).item());
    EXPECT_LT(relative, dtype == DType::kQ4_K || dtype == DType::kQ6_K ? 0.0085 : 0.0065) << to_string(dtype);
  }
}

TEST(MatmulPacked, ActivationsThatAreNotFiniteGiveNaNInTheirRowOnly) {
  for (const DType dtype : {DType::kQ4_0, DType::kQ5_1, DType::kQ4_K, DType::kQ6_K}) {
    const Tensor w = transpose(packed_weights(9, 512, dtype, 2), 0, 1);
    for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
      Tensor x = randn({3, 512}, 4);
      const Tensor clean = matmul(x, w);
      x.mutable_data<float>()[512 + 300] = bad;
      const Tensor result = matmul(x, w);
      for (const float value : narrow(result, 0, 1, 1).to_vector<float>()) EXPECT_TRUE(std::isnan(value));
      expect_identical(narrow(result, 0, 0, 1).contiguous(), narrow(clean, 0, 0, 1).contiguous(), "row before");
      expect_identical(narrow(result, 0, 2, 1).contiguous(), narrow(clean, 0, 2, 1).contiguous(), "row after");
    }
  }
}

TEST(MatmulPacked, ZerosStayZeroAndTinyValuesAreFinite) {
  const Tensor w = transpose(packed_weights(9, 256, DType::kQ4_K, 2), 0, 1);
  for (const float value : matmul(zeros({2, 256}), w).to_vector<float>()) EXPECT_EQ(value, 0);
  for (const float value : matmul(full({2, 256}, 1e-40), w).to_vector<float>()) EXPECT_TRUE(std::isfinite(value));
}

TEST(MatmulPacked, StackedWeightsMultiplyInBatches) {
  const Tensor x = randn({3, 5, 256}, 1), w = packed_weights(3 * 20, 256, DType::kQ5_K, 2);
  const Tensor stacked = reshape(w, {3, 20, 256});
  const Tensor result = matmul(x, transpose(stacked, 1, 2));
  ASSERT_EQ(result.shape(), Shape({3, 5, 20}));
  for (int64_t i = 0; i < 3; ++i) {
    const Tensor one = matmul(reshape(narrow(x, 0, i, 1), {5, 256}), transpose(narrow(w, 0, i * 20, 20), 0, 1));
    expect_identical(reshape(narrow(result, 0, i, 1), {5, 20}), one, cat("matrix ", i));
  }
}

TEST(MatmulPacked, ReferenceMultipliesTheDecodedWeights) {
  const Tensor x = randn({2, 256}, 1), w = packed_weights(5, 256, DType::kQ3_K, 2);
  const Tensor result = matmul(x.to_device(Device::reference()), transpose(w.to_device(Device::reference()), 0, 1));
  expect_close(result.to_device(Device::cpu()), matmul(x, transpose(w.to_dtype(DType::kF32), 0, 1)), 1e-6, "reference");
}

TEST(MatmulPacked, EmbeddingReadsPackedRows) {
  for (const DType dtype : {DType::kQ8_0, DType::kQ6_K, DType::kF8E4M3}) {
    const Tensor w = packed_weights(30, 256, dtype, 2);
    const Tensor ids = tensor<int64_t>({7, 0, 29, 7});
    expect_identical(embedding(ids, w), embedding(ids, w.to_dtype(DType::kF32)), cat("embedding of ", dtype));
    EXPECT_ERROR(embedding(tensor<int64_t>({30}), w), kInvalidArgument, "index 30 is out of range");
  }
}

TEST(MatmulPacked, GradientsReachTheActivations) {
  const Tensor w = packed_weights(12, 256, DType::kQ8_0, 2), x = randn({2, 256}, 1);
  const Var variable(x);
  const auto through_packed = backward(sum(matmul(variable, transpose(w, 0, 1))));
  const auto through_plain = backward(sum(matmul(variable, transpose(w.to_dtype(DType::kF32), 0, 1))));
  expect_close(through_packed.of(variable), through_plain.of(variable), 1e-6, "gradient");
}

TEST(PackedTensors, ViewsKeepBlocksWhole) {
  const Tensor w = packed_weights(6, 512, DType::kQ4_K, 2), decoded = w.to_dtype(DType::kF32);
  expect_identical(narrow(w, 1, 256, 256).to_dtype(DType::kF32), narrow(decoded, 1, 256, 256).contiguous(), "columns");
  expect_identical(narrow(w, 0, 2, 3).clone().to_dtype(DType::kF32), narrow(decoded, 0, 2, 3).contiguous(), "rows");
  expect_identical(reshape(w, {2, 3, 512}).to_dtype(DType::kF32), reshape(decoded, {2, 3, 512}), "reshape");
  EXPECT_ERROR(narrow(w, 1, 0, 100), kShape, "would split blocks of 256 weights");
  EXPECT_ERROR(reshape(w, {6 * 512 / 128, 128}), kShape, "would split blocks");
  EXPECT_ERROR(empty({4, 100}, DType::kQ4_0), kShape, "the last dimension must be a multiple of 32");
}

TEST(PackedTensors, OtherOpsSayWhatToDo) {
  const Tensor w = packed_weights(2, 256, DType::kQ4_K, 2), x = randn({2, 256}, 1);
  EXPECT_ERROR(add(w, x), kDType, "q4_k is a storage format");
  EXPECT_ERROR(softmax(w, 1), kDType, "softmax: q4_k is a storage format");
  EXPECT_ERROR(w.to_vector<float>(), kDType, "convert with to_dtype");
  EXPECT_ERROR(flip(w, {0}), kDType, "flip: q4_k is a storage format");
  EXPECT_ERROR(matmul(x, w), kShape, "inner dimensions");
  EXPECT_ERROR(matmul(randn({2, 2}, 1), w), kUnsupported, "the blocks must lie along the inner dimension");
  EXPECT_ERROR(matmul(x.to_dtype(DType::kF64), transpose(w, 0, 1)), kDType, "packed weights take f32, f16 or bf16");
  EXPECT_ERROR(transpose(w, 0, 1).clone(), kUnsupported, "is transposed");
  EXPECT_ERROR(quantize(x, DType::kIQ2_S), kUnsupported, "can be read but not written");
  EXPECT_ERROR(quantize(randn({2, 100}, 1), DType::kQ8_0), kShape, "multiple of 32");
  EXPECT_ERROR(quantize(x, DType::kQ8_0, ones({5})), kShape, "5 importances for 256 columns");
}

}  // namespace
}  // namespace wick
