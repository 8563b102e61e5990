#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "quant/format.h"
#include "quant/sample_weights.h"

namespace wick {
namespace {

// Formats that can be written, and how far a weight may come back from where it was, as a share of the largest
// magnitude of its block. F8 is missing: each of its weights stands alone.
struct Bound {
  DType dtype;
  float share;
};
constexpr Bound kBounds[] = {{DType::kQ4_0, 0.16f},   {DType::kQ4_1, 0.12f},   {DType::kQ5_0, 0.07f},
                             {DType::kQ5_1, 0.06f},   {DType::kQ8_0, 0.008f},  {DType::kQ2_K, 0.6f},
                             {DType::kQ3_K, 0.35f},   {DType::kQ4_K, 0.12f},   {DType::kQ5_K, 0.06f},
                             {DType::kQ6_K, 0.04f},   {DType::kQ8_K, 0.02f},   {DType::kIQ4_NL, 0.14f},
                             {DType::kIQ4_XS, 0.14f}, {DType::kMXFP4, 0.26f},  {DType::kI8Channel, 0.25f},
                             {DType::kGroup4, 0.15f}, {DType::kGroup8, 0.008f}};

using Blocks = std::vector<std::byte>;

Blocks encode(DType dtype, const std::vector<float>& weights, const float* importance = nullptr) {
  const auto count = static_cast<int64_t>(weights.size());
  Blocks blocks(static_cast<size_t>(bytes_of(dtype, count)));
  quant_format(dtype).encode(weights.data(), blocks.data(), count, importance);
  return blocks;
}

std::vector<float> decode(DType dtype, const Blocks& blocks) {
  const auto bytes = static_cast<int64_t>(blocks.size());
  std::vector<float> weights(static_cast<size_t>(bytes / block_bytes(dtype) * block_weights(dtype)));
  quant_format(dtype).decode(blocks.data(), weights.data(), static_cast<int64_t>(weights.size()));
  return weights;
}

double squared_distance(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    sum += difference * difference;
  }
  return sum;
}

TEST(QuantRoundTrip, NoWeightComesBackFarFromWhereItWas) {
  for (const auto& [dtype, share] : kBounds) {
    for (const auto& weights : {normal_weights(1 << 16, 11), student_weights(1 << 16, 12)}) {
      const std::vector<float> decoded = decode(dtype, encode(dtype, weights));
      const bool by_row = dtype == DType::kI8Channel;
      const size_t block = by_row ? weights.size() : static_cast<size_t>(block_weights(dtype));
      float worst = 0;
      for (size_t start = 0; start < weights.size(); start += block) {
        float largest = 0, distance = 0;
        for (size_t i = start; i < start + block; ++i) {
          largest = std::max(largest, std::abs(weights[i]));
          distance = std::max(distance, std::abs(weights[i] - decoded[i]));
        }
        worst = std::max(worst, distance / largest);
      }
      EXPECT_LE(worst, share) << to_string(dtype);
    }
  }
}

TEST(QuantRoundTrip, EncodingTwiceLosesAlmostNothingMore) {
  for (const auto& [dtype, share] : kBounds) {
    for (const auto& weights : {normal_weights(1 << 15, 13), laplace_weights(1 << 15, 14)}) {
      const std::vector<float> once = decode(dtype, encode(dtype, weights));
      const std::vector<float> twice = decode(dtype, encode(dtype, once));
      EXPECT_LE(squared_distance(once, twice), 0.1 * squared_distance(weights, once)) << to_string(dtype);
    }
  }
}

TEST(QuantRoundTrip, BlocksStandAloneWhateverTheRowLength) {
  for (const auto& [dtype, share] : kBounds) {
    if (dtype == DType::kI8Channel) continue;  // one scale for a row
    const auto block = block_weights(dtype);
    const std::vector<float> weights = normal_weights(3 * block, 15);
    const std::vector<float> importance = sample_importance(3 * block, 16);
    const Blocks whole = encode(dtype, weights, importance.data());
    Blocks parts;
    for (int64_t i = 0; i < 3; ++i) {
      const std::vector<float> part(weights.begin() + i * block, weights.begin() + (i + 1) * block);
      const Blocks encoded = encode(dtype, part, importance.data() + i * block);
      parts.insert(parts.end(), encoded.begin(), encoded.end());
    }
    EXPECT_EQ(whole, parts) << to_string(dtype);
  }
}

TEST(QuantRoundTrip, ZerosStayZero) {
  for (const auto& [dtype, share] : kBounds) {
    const std::vector<float> zeros(512, 0.0f);
    EXPECT_EQ(decode(dtype, encode(dtype, zeros)), zeros) << to_string(dtype);
  }
}

TEST(QuantRoundTrip, ConstantsAndSingleOutliersSurvive) {
  for (const auto& [dtype, share] : kBounds) {
    for (const float value : {1.0f, -1.0f, 0.0371f, -250.0f}) {
      const std::vector<float> constant(256, value);
      for (const float decoded : decode(dtype, encode(dtype, constant))) {
        ASSERT_NEAR(decoded, value, share * std::abs(value)) << to_string(dtype);
      }
      std::vector<float> outlier(256, 0.001f * value);
      outlier[77] = value;
      const std::vector<float> decoded = decode(dtype, encode(dtype, outlier));
      for (size_t i = 0; i < outlier.size(); ++i) {
        ASSERT_NEAR(decoded[i], outlier[i], share * std::abs(value)) << to_string(dtype) << " at " << i;
      }
    }
  }
}

TEST(QuantRoundTrip, WhatIsNotFiniteCountsAsZero) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const auto& [dtype, share] : kBounds) {
    std::vector<float> broken = normal_weights(512, 17);
    broken[3] = kInfinity;
    broken[100] = -kInfinity;
    broken[300] = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> mended = broken;
    for (const size_t i : {3, 100, 300}) mended[i] = 0;
    EXPECT_EQ(encode(dtype, broken), encode(dtype, mended)) << to_string(dtype);
  }
}

TEST(QuantRoundTrip, TinyAndHugeWeightsStayFinite) {
  for (const auto& [dtype, share] : kBounds) {
    for (const float size : {1e-45f, 1e-42f, 1e-30f, 1e-8f, 1e8f, 1e30f, 3e38f}) {
      std::vector<float> weights = rand({512}, 18).to_vector<float>();
      float largest = 0;
      for (float& weight : weights) {
        weight = (2 * weight - 1) * size;
        largest = std::max(largest, std::abs(weight));
      }
      for (const float decoded : decode(dtype, encode(dtype, weights))) {
        ASSERT_TRUE(std::isfinite(decoded)) << to_string(dtype) << ", weights of size " << size;
        ASSERT_LE(std::abs(decoded), 1.3f * std::max(largest, 1e-6f)) << to_string(dtype);
      }
    }
  }
}

TEST(QuantRoundTrip, AnyBitsEncodeToFiniteWeights) {
  for (const auto& [dtype, share] : kBounds) {
    std::vector<float> weights = rand({8192}, 19).to_vector<float>();
    uint32_t state = 1;
    for (float& weight : weights) {
      state = state * 1664525u + 1013904223u;
      weight = std::bit_cast<float>(state);
    }
    for (const float decoded : decode(dtype, encode(dtype, weights, weights.data()))) {
      ASSERT_TRUE(std::isfinite(decoded)) << to_string(dtype);
    }
  }
}

TEST(QuantRoundTrip, NoImportanceAtAllIsTheSameForEveryWeight) {
  for (const auto& [dtype, share] : kBounds) {
    const std::vector<float> weights = normal_weights(512, 20);
    for (const float value : {0.0f, 1.0f, 0x1p-100f, 0x1p100f}) {
      const std::vector<float> importance(512, value);
      EXPECT_EQ(encode(dtype, weights, importance.data()), encode(dtype, weights)) << to_string(dtype);
    }
  }
}

}  // namespace
}  // namespace wick
