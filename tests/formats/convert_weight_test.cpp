#include "formats/convert_weight.h"

#include <gtest/gtest.h>

#include <cstring>

#include "quant/format.h"
#include "support/errors.h"
#include "support/temp_folder.h"
#include "support/tiny_models.h"
#include "tensor/create.h"

namespace wick {
namespace {

// Block after block by hand, from f32.
std::vector<std::byte> encoded(const std::vector<float>& weights, DType dtype, int64_t columns,
                               const float* importance) {
  std::vector<std::byte> bytes(bytes_of(dtype, static_cast<int64_t>(weights.size())));
  const int64_t row_bytes = bytes_of(dtype, columns);
  for (int64_t row = 0; row < static_cast<int64_t>(weights.size()) / columns; ++row) {
    quant_format(dtype).encode(weights.data() + row * columns, bytes.data() + row * row_bytes, columns, importance);
  }
  return bytes;
}

void expect_bytes(const Tensor& actual, const std::vector<std::byte>& expected) {
  ASSERT_EQ(bytes_of(actual.dtype(), actual.numel()), static_cast<int64_t>(expected.size()));
  EXPECT_EQ(std::memcmp(actual.raw(), expected.data(), expected.size()), 0);
}

TEST(ConvertTensor, EveryRowAsTheFormatEncodesIt) {
  for (const DType dtype : {DType::kQ4_0, DType::kQ8_0, DType::kQ4_K, DType::kQ6_K, DType::kI8Channel}) {
    for (const DType from : {DType::kF32, DType::kF16, DType::kBF16}) {
      const Tensor x = randn({37, 512}, 5, from);
      expect_bytes(convert_tensor(x, dtype), encoded(x.to_vector<float>(), dtype, 512, nullptr));
    }
  }
}

TEST(ConvertTensor, FromTransposedViewsAndPackedTypes) {
  const Tensor x = randn({64, 96}, 5);
  const Tensor turned = x.with_layout(x.layout().transpose(0, 1));
  expect_bytes(convert_tensor(turned, DType::kQ8_0), encoded(turned.to_vector<float>(), DType::kQ8_0, 64, nullptr));
  const Tensor q8 = convert_tensor(x, DType::kQ8_0), back = convert_tensor(q8, DType::kF32);
  expect_bytes(convert_tensor(q8, DType::kQ4_0), encoded(back.to_vector<float>(), DType::kQ4_0, 96, nullptr));
  EXPECT_EQ(convert_tensor(x, DType::kF32).raw(), x.raw());
}

TEST(ConvertTensor, ImportancePerExpert) {
  const Tensor x = randn({2, 3, 256}, 5);
  std::vector<float> importance(512);
  for (size_t i = 0; i < importance.size(); ++i) importance[i] = static_cast<float>(i % 7 + (i >= 256 ? 1 : 0));
  const auto values = x.to_vector<float>();
  const auto half = values.begin() + 3 * 256;
  auto expected = encoded({values.begin(), half}, DType::kQ4_K, 256, importance.data());
  const auto second = encoded({half, values.end()}, DType::kQ4_K, 256, importance.data() + 256);
  expected.insert(expected.end(), second.begin(), second.end());
  expect_bytes(convert_tensor(x, DType::kQ4_K, importance), expected);
  EXPECT_ERROR(convert_tensor(x, DType::kQ4_K, std::span(importance).first(300)), kShape, "300 importances");
  EXPECT_ERROR(convert_tensor(randn({3, 256}, 1), DType::kQ4_K, importance), kShape, "512 importances");
}

TEST(ConvertTensor, WhatCannotBe) {
  EXPECT_ERROR(convert_tensor(randn({2, 256}, 1), DType::kIQ2_XXS), kUnsupported, "can be read but not written");
  EXPECT_ERROR(convert_tensor(randn({2, 40}, 1), DType::kQ8_0), kShape, "multiple of 32");
  EXPECT_ERROR(convert_tensor(zeros({2, 32}, DType::kI32), DType::kQ8_0), kDType, "does not hold weights");
}

TEST(LoadWeight, QuantisesByThePlanAndKeepsTheRest) {
  TempFolder temp;
  write_tiny_model(tiny_model("llama"), temp.path());
  const WeightSource source(Checkpoint::open(temp.path()));
  const auto load = [&](std::string_view name, std::string_view plan) {
    return load_weight(source, name, QuantizePlan::named(plan)).weight;
  };
  const std::string_view query = "model.layers.0.self_attn.q_proj.weight";
  EXPECT_EQ(load(query, "auto").dtype(), DType::kF32);
  EXPECT_EQ(load(query, "none").dtype(), DType::kF32);
  EXPECT_EQ(load(query, "int8").dtype(), DType::kI8Channel);
  EXPECT_EQ(load(query, "q4_k_m").dtype(), DType::kQ5_0);  // rows of 64
  EXPECT_EQ(load(query, "bf16").dtype(), DType::kBF16);
  EXPECT_EQ(load("model.norm.weight", "q8_0").dtype(), DType::kF32);
  const Tensor whole = load("model.layers.0.self_attn.qkv_proj.weight", "q8_0");
  const Tensor part = load("model.layers.0.self_attn.q_proj.weight", "q8_0");
  EXPECT_EQ(std::memcmp(whole.raw(), part.raw(), bytes_of(DType::kQ8_0, part.numel())), 0);
}

TEST(LoadWeight, QuantisedFilesBecomeFloatsWhenAsked) {
  TempFolder temp;
  const std::string config = R"({"model_type": "llama", "quantization_config": {"quant_method": "gptq", "bits": 4,
    "group_size": 32}})";
  std::vector<int32_t> groups(64);
  for (int i = 0; i < 64; ++i) groups[i] = i % 2;
  write_checkpoint(temp.path(), config,
                   {{"w.qweight", full({8, 16}, 0x76543210, DType::kI32)},
                    {"w.qzeros", full({2, 2}, 0x33333333, DType::kI32)},
                    {"w.scales", ones({2, 16}, DType::kF16)},
                    {"w.g_idx", from_vector(groups, {64})}});
  const WeightSource source(Checkpoint::open(temp.path()));
  EXPECT_TRUE(source.get("w.weight").input_order.defined());
  const LoadedWeight plain = load_weight(source, "w.weight", QuantizePlan::named("none"));
  EXPECT_FALSE(plain.input_order.defined());
  ASSERT_EQ(plain.weight.dtype(), DType::kF16);
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(static_cast<float>(plain.weight.data<Half>()[i]), static_cast<float>(i % 8) - 4);
}

}  // namespace
}  // namespace wick
