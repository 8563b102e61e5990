#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "quant/format.h"
#include "quant/sample_weights.h"

namespace wick {
namespace {

constexpr int64_t kRows = 64, kColumns = 1024;

std::vector<float> through(DType dtype, const std::vector<float>& weights, const float* importance) {
  const QuantFormat& format = quant_format(dtype);
  const auto count = static_cast<int64_t>(weights.size());
  std::vector<std::byte> blocks(static_cast<size_t>(bytes_of(dtype, count)));
  for (int64_t row = 0; row < count / kColumns; ++row) {
    format.encode(weights.data() + row * kColumns, blocks.data() + row * bytes_of(dtype, kColumns), kColumns,
                  importance);
  }
  std::vector<float> decoded(weights.size());
  format.decode(blocks.data(), decoded.data(), count);
  return decoded;
}

// The sum of importance * error^2, as a share of the sum of importance * weight^2.
double relative_error(const std::vector<float>& weights, const std::vector<float>& decoded, const float* importance) {
  double error = 0, total = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    const double w = importance ? static_cast<double>(importance[i % kColumns]) : 1.0;
    const double x = static_cast<double>(weights[i]);
    const double difference = x - static_cast<double>(decoded[i]);
    error += w * difference * difference;
    total += w * x * x;
  }
  return error / total;
}

// The relative error of ggml's own encoders (ggml 0.21, ggml_quantize_chunk) on the same weights: normal, Student and
// Laplace, first without and then with importance.
struct GgmlErrors {
  DType dtype;
  double errors[6];
};
constexpr GgmlErrors kGgml[] = {
    {DType::kQ4_0, {0.0074325, 0.016101, 0.011398, 0.0060683, 0.014403, 0.0097912}},
    {DType::kQ4_1, {0.0061394, 0.010137, 0.0084319, 0.0040581, 0.0067621, 0.005651}},
    {DType::kQ5_0, {0.0018313, 0.0042661, 0.00286, 0.001479, 0.0038893, 0.0024948}},
    {DType::kQ5_1, {0.0014444, 0.0023515, 0.0019606, 0.00095332, 0.0016205, 0.0013357}},
    {DType::kQ8_0, {2.8738e-05, 7.2084e-05, 4.5456e-05, 2.8819e-05, 7.0841e-05, 4.5748e-05}},
    {DType::kQ2_K, {0.088307, 0.12243, 0.11775, 0.055914, 0.073364, 0.069816}},
    {DType::kQ3_K, {0.022773, 0.036048, 0.030842, 0.018237, 0.030811, 0.025454}},
    {DType::kQ4_K, {0.0050978, 0.0084589, 0.0071549, 0.0041912, 0.0071565, 0.0058726}},
    {DType::kQ5_K, {0.0013094, 0.0021698, 0.0018326, 0.0010881, 0.001916, 0.0015503}},
    {DType::kQ6_K, {0.00031471, 0.00065258, 0.00047202, 0.00026205, 0.0005814, 0.00040675}},
    {DType::kQ8_K, {4.9305e-05, 0.00029644, 0.00010005, 4.9411e-05, 0.00029542, 9.8952e-05}},
    {DType::kIQ4_NL, {0.0058113, 0.010169, 0.0077671, 0.004994, 0.0088626, 0.0067432}},
    {DType::kIQ4_XS, {0.0059077, 0.010402, 0.0078915, 0.0051028, 0.0091963, 0.0069025}},
    {DType::kMXFP4, {0.013315, 0.019991, 0.016054, 0.013394, 0.019436, 0.016082}},
};

TEST(QuantEncode, ErrorIsBelowThatOfGgml) {
  constexpr int64_t kCount = kRows * kColumns;
  const std::vector<float> samples[] = {normal_weights(kCount, 1), student_weights(kCount, 2),
                                        laplace_weights(kCount, 3)};
  const std::vector<float> importance = sample_importance(kColumns, 4);
  for (const GgmlErrors& ggml : kGgml) {
    for (int i = 0; i < 6; ++i) {
      const std::vector<float>& weights = samples[i % 3];
      const float* used = i < 3 ? nullptr : importance.data();
      const double error = relative_error(weights, through(ggml.dtype, weights, used), used);
      EXPECT_LE(error, ggml.errors[i]) << to_string(ggml.dtype) << ", case " << i;
    }
  }
}

// Wick's own formats have no counterpart; the plain recipe is: from the largest magnitude or from the range of a group.
TEST(QuantEncode, OwnFormatsBeatThePlainRecipe) {
  for (const auto& weights : {normal_weights(kRows * kColumns, 5), student_weights(kRows * kColumns, 6)}) {
    std::vector<float> by_row = weights;
    for (size_t row = 0; row < by_row.size(); row += kColumns) {
      float largest = 0;
      for (size_t i = row; i < row + kColumns; ++i) largest = std::max(largest, std::abs(weights[i]));
      const float scale = largest / 127;
      for (size_t i = row; i < row + kColumns; ++i) by_row[i] = std::round(weights[i] / scale) * scale;
    }
    EXPECT_LE(relative_error(weights, through(DType::kI8Channel, weights, nullptr), nullptr),
              relative_error(weights, by_row, nullptr));
    for (const auto& [dtype, top] : {std::pair{DType::kGroup4, 15.0f}, std::pair{DType::kGroup8, 255.0f}}) {
      std::vector<float> by_group = weights;
      for (size_t group = 0; group < by_group.size(); group += 32) {
        const auto [low, high] = std::minmax_element(weights.begin() + static_cast<std::ptrdiff_t>(group),
                                                     weights.begin() + static_cast<std::ptrdiff_t>(group + 32));
        const float scale = (*high - *low) / top;
        const float zero = std::round(-*low / scale);
        for (size_t i = group; i < group + 32; ++i) {
          by_group[i] = scale * (std::clamp(std::round(weights[i] / scale) + zero, 0.0f, top) - zero);
        }
      }
      EXPECT_LE(relative_error(weights, through(dtype, weights, nullptr), nullptr),
                relative_error(weights, by_group, nullptr))
          << to_string(dtype);
    }
  }
}

// An importance that singles out some weights must serve these better than no importance does.
TEST(QuantEncode, ImportanceMovesTheErrorWhereItMattersLess) {
  const std::vector<float> weights = student_weights(kRows * kColumns, 7);
  std::vector<float> importance(kColumns, 0.01f);
  for (size_t i = 0; i < kColumns; i += 5) importance[i] = 1.0f;
  for (const GgmlErrors& ggml : kGgml) {
    const double plain = relative_error(weights, through(ggml.dtype, weights, nullptr), importance.data());
    const double guided = relative_error(weights, through(ggml.dtype, weights, importance.data()), importance.data());
    EXPECT_LT(guided, plain) << to_string(ggml.dtype);
  }
}

TEST(QuantEncode, ReadOnlyFormatsHaveNoEncoder) {
  for (const DType dtype : {DType::kIQ1_S, DType::kIQ1_M, DType::kIQ2_XXS, DType::kIQ2_XS, DType::kIQ2_S,
                            DType::kIQ3_XXS, DType::kIQ3_S, DType::kTQ1_0, DType::kTQ2_0}) {
    EXPECT_EQ(quant_format(dtype).encode, nullptr) << to_string(dtype);
  }
}

}  // namespace
}  // namespace wick
