// Quantised checkpoints: what is loaded is, number by number, what the published layouts stand for.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "formats/convert_weight.h"
#include "formats/gguf/gguf_export.h"
#include "support/errors.h"
#include "support/packed_layouts.h"
#include "support/temp_folder.h"
#include "support/tiny_models.h"

namespace wick {
namespace {

constexpr const char* kModule = "model.layers.0.mlp.up_proj";

std::string settings(const std::string& quantization) {
  return R"({"model_type": "llama", "num_hidden_layers": 1, "quantization_config": )" + quantization + "}";
}
std::string compressed(const std::string& format, const std::string& weights) {
  return settings(R"({"quant_method": "compressed-tensors", "format": ")" + format +
                  R"(", "ignore": ["lm_head"], "kv_cache_scheme": null, "quantization_status": "compressed",
                  "config_groups": {"group_0": {"targets": ["Linear"], "input_activations": null, "weights": )" +
                  weights + "}}}");
}
const char* const kFp8 = R"({"quant_method": "fp8", "activation_scheme": "dynamic", "fmt": "e4m3"})";
const char* const kFp8Blocks = R"({"quant_method": "fp8", "activation_scheme": "dynamic", "fmt": "e4m3",
    "weight_block_size": [128, 128], "modules_to_not_convert": ["lm_head"]})";
const char* const kBnb4 = R"({"quant_method": "bitsandbytes", "load_in_4bit": true, "load_in_8bit": false,
    "bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": true, "llm_int8_threshold": 6.0})";
const char* const kBnb8 = R"({"quant_method": "bitsandbytes", "load_in_4bit": false, "load_in_8bit": true})";
const char* const kModelopt4 = R"({"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head"]})";

using Parts = std::vector<std::pair<std::string, Tensor>>;

class PackedWeights : public testing::Test {
 protected:
  WeightSource write(const std::string& config, const Parts& parts) {
    const auto folder = temp_.path() / std::to_string(count_++);
    Parts tensors;
    for (const auto& [suffix, tensor] : parts) tensors.emplace_back(kModule + suffix, tensor);
    write_checkpoint(folder, config, tensors);
    return WeightSource(Checkpoint::open(folder));
  }

  // The weight as f32 in its natural order, `stored` as that dtype, is the layout's, bit for bit.
  void expect_exact(const std::string& config, const PackedLayout& layout, const Shape& shape, DType stored) {
    const WeightSource source = write(config, layout.parts);
    const std::string name = cat(kModule, ".weight");
    EXPECT_EQ(source.names(), std::vector<std::string>{name});
    EXPECT_EQ(source.stored_shape(name), shape);
    const LoadedWeight loaded = source.get(name);
    ASSERT_EQ(loaded.weight.shape(), shape);
    EXPECT_EQ(loaded.weight.dtype(), stored);
    const std::vector<float> values = convert_tensor(in_natural_order(loaded), DType::kF32).to_vector<float>();
    ASSERT_EQ(values.size(), layout.values.size());
    for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], layout.values[i]) << "weight " << i;
    const auto exported = gguf_tensors(source);
    ASSERT_EQ(exported.size(), 1u);
    EXPECT_EQ(exported[0].shape, shape);
    EXPECT_EQ(exported[0].load().shape(), shape);
  }

  LayoutRandom random_{5};

 private:
  TempFolder temp_;
  int count_ = 0;
};

TEST_F(PackedWeights, Fp8InBlocksOfRowsAndTensors) {
  expect_exact(settings(kFp8Blocks), pack_f8(200, 320, 128, 128, ".weight_scale_inv", {2, 3}, random_), {200, 320},
               DType::kF8Channel);
  expect_exact(settings(kFp8Blocks), pack_f8(130, 40, 128, 128, ".weight_scale_inv", {2, 1}, random_), {130, 40},
               DType::kF32);
  const std::string fbgemm = R"({"quant_method": "fbgemm_fp8", "activation_scale_ub": 1200.0})";
  expect_exact(settings(fbgemm), pack_f8(5, 128, 1, 128, ".weight_scale", {5, 1}, random_), {5, 128},
               DType::kF8Channel);
  expect_exact(settings(kFp8), pack_f8(5, 64, 5, 64, ".weight_scale", {}, random_), {5, 64}, DType::kF8Channel);
  const std::string modelopt = R"({"quant_method": "modelopt", "quant_algo": "FP8", "producer": {"name": "modelopt"}})";
  PackedLayout with_inputs = pack_f8(3, 64, 3, 64, ".weight_scale", {1}, random_);
  with_inputs.parts.emplace_back(".input_scale", full({}, 0.25));
  expect_exact(settings(modelopt), with_inputs, {3, 64}, DType::kF8Channel);
  const std::string blocks = R"({"num_bits": 8, "type": "float", "strategy": "block", "block_structure": [64, 128]})";
  expect_exact(compressed("float-quantized", blocks), pack_f8(70, 192, 64, 128, ".weight_scale", {2, 2}, random_),
               {70, 192}, DType::kF8Channel);
}

TEST_F(PackedWeights, PackedIntsOfFourBits) {
  const std::string groups =
      R"({"num_bits": 4, "type": "int", "symmetric": true, "strategy": "group", "group_size": 32, "actorder": "weight"})";
  const std::string config = compressed("pack-quantized", groups);
  expect_exact(config, pack_ints(5, 96, {}, random_), {5, 96}, DType::kGroup4);
  expect_exact(config, pack_ints(11, 96, {.zeros = true}, random_), {11, 96}, DType::kGroup4);
  expect_exact(config, pack_ints(5, 96, {.zeros = true, .packed_zeros = false}, random_), {5, 96}, DType::kGroup4);
  expect_exact(config, pack_ints(5, 96, {.sorted = false}, random_), {5, 96}, DType::kGroup4);
  PackedLayout unset = pack_ints(5, 96, {}, random_);
  unset.parts.emplace_back(".weight_g_idx", full({96}, -1, DType::kI32));
  expect_exact(config, unset, {5, 96}, DType::kGroup4);
  // Scales that f16 cannot hold.
  expect_exact(config, pack_ints(5, 96, {.halves = false}, random_), {5, 96}, DType::kF32);
  expect_exact(config, pack_ints(5, 96, {.zeros = true, .halves = false, .sorted = false}, random_), {5, 96},
               DType::kF32);
  const std::string channels = R"({"num_bits": 4, "type": "int", "symmetric": true, "strategy": "channel"})";
  expect_exact(compressed("pack-quantized", channels), pack_ints(3, 128, {.group = 128, .halves = false}, random_),
               {3, 128}, DType::kI8Channel);
  expect_exact(compressed("pack-quantized", channels), pack_ints(3, 44, {.group = 44}, random_), {3, 44}, DType::kF32);
}

TEST_F(PackedWeights, PackedIntsOfEightBits) {
  const std::string config = compressed(
      "pack-quantized", R"({"num_bits": 8, "type": "int", "symmetric": false, "strategy": "group", "group_size": 64})");
  expect_exact(config, pack_ints(5, 128, {.bits = 8, .group = 64}, random_), {5, 128}, DType::kI8Channel);
  expect_exact(config, pack_ints(5, 128, {.bits = 8, .group = 64, .zeros = true}, random_), {5, 128}, DType::kGroup8);
  expect_exact(config, pack_ints(5, 128, {.bits = 8, .group = 64, .zeros = true, .halves = false}, random_), {5, 128},
               DType::kF32);
}

TEST_F(PackedWeights, Int8WithAndWithoutZeros) {
  const std::string config = compressed("int-quantized", R"({"num_bits": 8, "type": "int", "strategy": "channel"})");
  expect_exact(config, pack_int8(5, 128, false, random_), {5, 128}, DType::kI8Channel);
  expect_exact(config, pack_int8(5, 128, true, random_), {5, 128}, DType::kGroup8);
  expect_exact(config, pack_int8(5, 65, false, random_), {5, 65}, DType::kF32);
  expect_exact(settings(kBnb8), pack_bnb8(5, 128, random_), {5, 128}, DType::kI8Channel);
}

TEST_F(PackedWeights, FloatsOfFourBits) {
  const std::string nvfp4 = compressed(
      "nvfp4-pack-quantized", R"({"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16})");
  expect_exact(nvfp4, pack_nvfp4(5, 128, true, random_), {5, 128}, DType::kNVFP4);
  expect_exact(nvfp4, pack_nvfp4(5, 48, true, random_), {5, 48}, DType::kF32);
  expect_exact(settings(kModelopt4), pack_nvfp4(5, 128, false, random_), {5, 128}, DType::kNVFP4);
  expect_exact(settings(kModelopt4), pack_nvfp4(5, 16, false, random_), {5, 16}, DType::kF32);
  const std::string mxfp4 =
      compressed("mxfp4-pack-quantized", R"({"num_bits": 4, "type": "float", "strategy": "group", "group_size": 32})");
  expect_exact(mxfp4, pack_mxfp4(5, 96, random_), {5, 96}, DType::kMXFP4);
}

TEST_F(PackedWeights, BitsandbytesTables) {
  for (const bool nested : {false, true}) {
    expect_exact(settings(kBnb4), pack_bnb4(5, 128, 64, nested, true, random_), {5, 128}, DType::kNF4);
    expect_exact(settings(kBnb4), pack_bnb4(5, 192, 128, nested, true, random_), {5, 192}, DType::kNF4);
    expect_exact(settings(kBnb4), pack_bnb4(7, 33, 64, nested, true, random_), {7, 33}, DType::kF32);
    expect_exact(settings(kBnb4), pack_bnb4(5, 128, 64, nested, false, random_), {5, 128}, DType::kF32);
  }
}

TEST_F(PackedWeights, ContradictionsGetASentence) {
  const std::string name = cat(kModule, ".weight");
  const auto get = [&](const std::string& config, PackedLayout layout, const std::string& suffix, const Tensor& other) {
    Parts parts;
    for (const auto& [part, tensor] : layout.parts) {
      if (part != suffix) parts.emplace_back(part, tensor);
    }
    if (other.defined()) parts.emplace_back(suffix, other);
    return write(config, parts).get(name);
  };
  const auto f8 = [&] { return pack_f8(200, 320, 128, 128, ".weight_scale_inv", {2, 3}, random_); };
  EXPECT_ERROR(get(settings(kFp8Blocks), f8(), ".weight_scale_inv", zeros({2, 2})), kBadFile,
               "blocks of 128 x 128 weights [200, 320] make it [2, 3]");
  EXPECT_ERROR(get(settings(kFp8Blocks), f8(), ".weight_scale_inv", {}), kBadFile, "up_proj.weight_scale' is missing");
  EXPECT_ERROR(get(settings(kFp8Blocks), f8(), ".weight_scale_inv", zeros({2, 3}, DType::kI32)), kBadFile,
               "is i32 [2, 3], expected scales");
  EXPECT_ERROR(get(settings(kFp8Blocks), f8(), ".weight_scale_inv", full({2, 3}, NAN)), kBadFile, "nan at index 0");
  EXPECT_ERROR(get(settings(kFp8), f8(), ".weight_scale_inv", zeros({7})), kBadFile, "does not fit weights [200, 320]");
  EXPECT_ERROR(get(settings(kFp8), f8(), ".weight_scale_inv", zeros({0})), kBadFile, "expected scales");
  EXPECT_ERROR(get(settings(kFp8), f8(), ".weight", empty({64}, DType::kF8E4M3)), kBadFile, "expected a matrix");
  EXPECT_ERROR(get(settings(kFp8), f8(), ".weight", empty({0, 64}, DType::kF8E4M3)), kBadFile, "expected a matrix");
  EXPECT_ERROR(get(settings(kFp8), f8(), ".weight", empty({200, 320}, DType::kF8E5M2)), kUnsupported, "F8_E5M2");
  EXPECT_ERROR(get(settings(kModelopt4), pack_nvfp4(4, 64, false, random_), ".pre_quant_scale", ones({64})),
               kUnsupported, "pre_quant_scale");

  const std::string ints = compressed("pack-quantized", R"({"num_bits": 4, "type": "int", "group_size": 32})");
  const auto packed = [&] { return pack_ints(5, 96, {.zeros = true}, random_); };
  const auto shape = [](std::vector<int64_t> sizes) {
    return from_vector(sizes, {static_cast<int64_t>(sizes.size())});
  };
  EXPECT_ERROR(get(ints, packed(), ".weight_shape", {}), kBadFile, "weight_shape is not there");
  EXPECT_ERROR(get(ints, packed(), ".weight_shape", shape({5, -96})), kBadFile, "two whole numbers above 0");
  EXPECT_ERROR(get(ints, packed(), ".weight_shape", shape({6, 96})), kBadFile, "does not hold [6, 96]");
  EXPECT_ERROR(get(ints, packed(), ".weight_scale", {}), kBadFile, "weight_scale is missing");
  EXPECT_ERROR(get(ints, packed(), ".weight_scale", zeros({5, 2})), kBadFile, "in groups of 32");
  EXPECT_ERROR(get(ints, packed(), ".weight_zero_point", zeros({1, 2}, DType::kI32)), kBadFile, "expected i32 [1, 3]");
  EXPECT_ERROR(get(ints, packed(), ".weight_zero_point", full({5, 3}, 9, DType::kI8)), kBadFile, "4 bits cannot hold");
  EXPECT_ERROR(get(ints, packed(), ".weight_g_idx", full({96}, 3, DType::kI32)), kBadFile, "names group 3");
  EXPECT_ERROR(get(ints, packed(), ".weight_packed", zeros({5, 12})), kUnsupported, "a layout that is not known");

  const auto fp4 = [&] { return pack_nvfp4(4, 64, true, random_); };
  const std::string nvfp4 = compressed("nvfp4-pack-quantized", R"({"num_bits": 4, "type": "float", "group_size": 16})");
  EXPECT_ERROR(get(nvfp4, fp4(), ".weight_scale", empty({4, 3}, DType::kF8E4M3)), kBadFile, "expected f8_e4m3 [4, 4]");
  EXPECT_ERROR(get(nvfp4, fp4(), ".weight_global_scale", zeros({1})), kBadFile, "expected one above 0");
  EXPECT_ERROR(get(nvfp4, fp4(), ".weight_global_scale", ones({4})), kBadFile, "expected one above 0");

  const auto nf4 = [&] { return pack_bnb4(4, 64, 64, true, true, random_); };
  const std::string state = ".weight.quant_state.bitsandbytes__nf4";
  const auto text = [](const std::string& json) {
    return bytes_tensor({json.begin(), json.end()}, {static_cast<int64_t>(json.size())}, DType::kU8);
  };
  EXPECT_ERROR(get(settings(kBnb4), nf4(), state, text("{")), kBadFile, "quant_state");
  EXPECT_ERROR(get(settings(kBnb4), nf4(), state, text(R"({"shape": [4, -64], "blocksize": 64})")), kBadFile,
               "not the shape of a matrix");
  EXPECT_ERROR(get(settings(kBnb4), nf4(), state, text(R"({"shape": [4, 96], "blocksize": 64})")), kBadFile,
               "which are not the [4, 96]");
  EXPECT_ERROR(get(settings(kBnb4), nf4(), state, text(R"({"shape": [4, 64], "blocksize": 0})")), kBadFile, "is 0");
  EXPECT_ERROR(get(settings(kBnb4), nf4(), ".weight.absmax", zeros({4})), kBadFile, "4 u8");
  EXPECT_ERROR(get(settings(kBnb4), nf4(), ".weight.quant_map", zeros({15})), kBadFile, "16 f32");
  EXPECT_ERROR(get(settings(kBnb4), nf4(), ".weight.nested_quant_map", {}), kBadFile, "256 f32");
  EXPECT_ERROR(get(settings(kBnb8), pack_bnb8(4, 64, random_), ".SCB", ones({3})), kBadFile, "4 f32");
  EXPECT_ERROR(get(settings(kBnb8), pack_bnb8(4, 64, random_), ".weight_format", ones({}, DType::kU8)), kUnsupported,
               "weight_format");
}

TEST(QuantSettings, WhatIsNotUnderstoodIsNamed) {
  const auto read = [](const std::string& config) { return read_quant_config(Json::parse(config, "config.json")); };
  const std::string ints = R"({"num_bits": 4, "type": "int", "symmetric": true, "group_size": 128)";
  EXPECT_ERROR(read(compressed("marlin-24", ints + "}")), kUnsupported, "'marlin-24'");
  EXPECT_ERROR(read(compressed("pack-quantized", R"({"num_bits": 3, "type": "int"})")), kUnsupported, "3 bits");
  EXPECT_ERROR(read(compressed("pack-quantized", ints + R"(, "actorder": "odd"})")), kUnsupported, "'odd'");
  EXPECT_ERROR(read(compressed("pack-quantized", ints + R"(, "lookup": 3})")), kUnsupported, "weights.lookup'");
  EXPECT_ERROR(read(compressed("pack-quantized", ints + R"(, "strategy": "spiral"})")), kUnsupported, "'spiral'");
  EXPECT_ERROR(read(settings(R"({"quant_method": "compressed-tensors", "sparsity_config": {"format": "sparse-24"}})")),
               kUnsupported, "'sparse-24'");
  EXPECT_ERROR(read(settings(R"({"quant_method": "compressed-tensors",
                                 "transform_config": {"config_groups": {"u": {"type": "hadamard"}}}})")),
               kUnsupported, "transforms");
  EXPECT_ERROR(read(settings(R"({"quant_method": "fp8", "fmt": "e5m2"})")), kUnsupported, "'e5m2'");
  EXPECT_ERROR(read(settings(R"({"quant_method": "fp8", "weight_block_size": [128, 0]})")), kUnsupported, "two sizes");
  EXPECT_ERROR(read(settings(R"({"quant_method": "fp8", "swizzle": true})")), kUnsupported, "swizzle'");
  EXPECT_ERROR(read(settings(R"({"quant_method": "modelopt", "quant_algo": "W4A8_AWQ"})")), kUnsupported, "'W4A8_AWQ'");
  EXPECT_ERROR(read(settings(R"({"quant_method": "modelopt", "quant_algo": "NVFP4", "pre_quant_scale": true})")),
               kUnsupported, "'pre_quant_scale'");
  EXPECT_ERROR(read(settings(R"({"quant_method": "bitsandbytes", "load_in_4bit": true, "load_in_8bit": true})")),
               kUnsupported, "either");
  EXPECT_ERROR(read(settings(R"({"quant_method": "hqq"})")), kUnsupported, "'hqq' is not supported");
}

TEST(QuantSettings, ModeloptsOwnFile) {
  const TempFolder temp;
  std::ofstream(temp.path() / "hf_quant_config.json")
      << R"({"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "NVFP4", "group_size": 16,
             "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]}})";
  const Json config = Json::parse(R"({"model_type": "llama"})", "config.json");
  EXPECT_EQ(read_quant_config(config, temp.path()).method, QuantConfig::Method::kModelopt);
  EXPECT_EQ(read_quant_config(config).method, QuantConfig::Method::kNone);
}

}  // namespace
}  // namespace wick
