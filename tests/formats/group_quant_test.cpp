#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "formats/convert_weight.h"
#include "formats/packed/awq.h"
#include "formats/packed/float_blocks.h"
#include "formats/packed/gptq.h"
#include "quant/format.h"
#include "support/errors.h"
#include "tensor/create.h"

namespace wick {
namespace {

// A layer with known codes, written the way each library packs it.
struct Layer {
  int64_t in = 128, out = 16, group_size = 64;
  int bits = 4;
  std::vector<int> codes;     // [in, out]
  std::vector<int> zeros;     // [groups, out]
  std::vector<float> scales;  // [groups, out], exactly f16
  std::vector<int32_t> group_of;

  explicit Layer(int bits_given = 4) : bits(bits_given) {
    std::mt19937 random(7);
    const int levels = 1 << bits;
    for (int64_t i = 0; i < in * out; ++i) codes.push_back(static_cast<int>(random() % levels));
    for (int64_t i = 0; i < groups() * out; ++i) {
      zeros.push_back(1 + static_cast<int>(random() % (levels - 1)));
      scales.push_back(static_cast<float>(1 + random() % 1000) / 1024);
    }
    for (int64_t i = 0; i < in; ++i) group_of.push_back(static_cast<int32_t>(i / group_size));
  }
  int64_t groups() const { return in / group_size; }

  // What the layer multiplies with: [out, in].
  std::vector<float> weights() const {
    std::vector<float> result;
    for (int64_t o = 0; o < out; ++o) {
      for (int64_t i = 0; i < in; ++i) {
        const int64_t group = group_of[i] * out + o;
        result.push_back(scales[group] * static_cast<float>(codes[i * out + o] - zeros[group]));
      }
    }
    return result;
  }

  Tensor scale_tensor() const {
    std::vector<Half> halves;
    for (const float scale : scales) halves.emplace_back(scale);
    return from_vector(halves, {groups(), out});
  }

  GptqTensors gptq(int stored_zero_offset) const {
    const int64_t per_word = 32 / bits;
    std::vector<uint32_t> words(in / per_word * out), zero_words(groups() * out / per_word);
    for (int64_t i = 0; i < in; ++i) {
      for (int64_t o = 0; o < out; ++o) {
        words[i / per_word * out + o] |= static_cast<uint32_t>(codes[i * out + o]) << (i % per_word * bits);
      }
    }
    for (int64_t g = 0; g < groups(); ++g) {
      for (int64_t o = 0; o < out; ++o) {
        zero_words[(g * out + o) / per_word] |= static_cast<uint32_t>(zeros[g * out + o] - stored_zero_offset)
                                                << (o % per_word * bits);
      }
    }
    return {as_i32(words, {in / per_word, out}), as_i32(zero_words, {groups(), out / per_word}), scale_tensor(),
            from_vector(group_of, {in})};
  }

  AwqTensors awq() const {
    constexpr int kOrder[8] = {0, 2, 4, 6, 1, 3, 5, 7};
    const auto pack = [&](const std::vector<int>& values, int64_t rows) {
      std::vector<uint32_t> words(rows * out / 8);
      for (int64_t row = 0; row < rows; ++row) {
        for (int64_t word = 0; word < out / 8; ++word) {
          for (int i = 0; i < 8; ++i) {
            words[row * out / 8 + word] |= static_cast<uint32_t>(values[row * out + word * 8 + kOrder[i]]) << (4 * i);
          }
        }
      }
      return as_i32(words, {rows, out / 8});
    };
    return {pack(codes, in), pack(zeros, groups()), scale_tensor()};
  }

  static Tensor as_i32(const std::vector<uint32_t>& words, const Shape& shape) {
    return from_vector(std::vector<int32_t>(words.begin(), words.end()), shape);
  }
};

std::vector<float> decoded(const Tensor& packed) {
  std::vector<float> weights(packed.numel());
  quant_format(packed.dtype()).decode(packed.raw(), weights.data(), packed.numel());
  return weights;
}

QuantConfig gptq_config(int bits, int64_t group_size, bool offset) {
  return {QuantConfig::Method::kGptq, bits, group_size, offset};
}

TEST(Gptq, FourAndEightBitsWithAndWithoutTheOffset) {
  for (const int bits : {4, 8}) {
    for (const bool offset : {true, false}) {
      SCOPED_TRACE(testing::Message() << bits << " bits, offset " << offset);
      const Layer layer(bits);
      const LoadedWeight loaded = assemble_gptq(layer.gptq(offset ? 1 : 0), gptq_config(bits, 64, offset), "layer");
      EXPECT_EQ(loaded.weight.shape(), Shape({16, 128}));
      EXPECT_EQ(loaded.weight.dtype(), bits == 4 ? DType::kGroup4 : DType::kGroup8);
      EXPECT_FALSE(loaded.input_order.defined());
      EXPECT_EQ(decoded(loaded.weight), layer.weights());
    }
  }
}

TEST(Gptq, ZeroOfSixteenFromTheOffset) {
  Layer layer;
  layer.zeros[3] = 16;  // stored as 15
  EXPECT_EQ(decoded(assemble_gptq(layer.gptq(1), gptq_config(4, 64, true), "layer").weight), layer.weights());
}

TEST(Gptq, ActOrderSortsTheInputs) {
  Layer layer;
  std::shuffle(layer.group_of.begin(), layer.group_of.end(), std::mt19937(3));
  const LoadedWeight loaded = assemble_gptq(layer.gptq(1), gptq_config(4, 64, true), "layer");
  ASSERT_TRUE(loaded.input_order.defined());
  const auto order = loaded.input_order.to_vector<int64_t>();
  auto sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (int64_t i = 0; i < layer.in; ++i) EXPECT_EQ(sorted[i], i);
  const auto weights = layer.weights(), packed = decoded(loaded.weight);
  for (int64_t o = 0; o < layer.out; ++o) {
    for (int64_t i = 0; i < layer.in; ++i) EXPECT_EQ(packed[o * layer.in + i], weights[o * layer.in + order[i]]);
  }
  EXPECT_EQ(in_natural_order(loaded).to_vector<float>(), weights);
}

TEST(Gptq, OneGroupForAll) {
  Layer layer;
  layer.group_size = layer.in;
  layer.zeros.resize(layer.out);
  layer.scales.resize(layer.out);
  std::fill(layer.group_of.begin(), layer.group_of.end(), 0);
  GptqTensors tensors = layer.gptq(1);
  tensors.g_idx = {};
  EXPECT_EQ(decoded(assemble_gptq(tensors, gptq_config(4, -1, true), "layer").weight), layer.weights());
}

TEST(Gptq, ContradictionsAreNamed) {
  const Layer layer;
  const auto assemble = [&](auto change, int64_t group_size = 64) {
    GptqTensors tensors = layer.gptq(1);
    change(tensors);
    return assemble_gptq(tensors, gptq_config(4, group_size, true), "model.layers.0.q_proj");
  };
  EXPECT_ERROR(assemble([](GptqTensors& t) { t.qzeros = {}; }), kBadFile, "model.layers.0.q_proj.qzeros is missing");
  EXPECT_ERROR(assemble([](GptqTensors&) {}, 32), kBadFile, "qzeros is i32 [2, 2], expected i32 [4, 2]");
  EXPECT_ERROR(assemble([](GptqTensors& t) {
                 t.scales = zeros({2, 15}, DType::kF16);
               }),
               kBadFile, "scales is f16 [2, 15], expected f16 [2, 16]");
  EXPECT_ERROR(assemble([](GptqTensors& t) { t.scales = full({2, 16}, 1e-20); }), kUnsupported, "f16 cannot hold");
  EXPECT_ERROR(assemble([](GptqTensors& t) { t.g_idx = full({128}, 2, DType::kI32); }), kBadFile,
               "g_idx[0] is 2, but there are 2 groups");
  EXPECT_ERROR(assemble([](GptqTensors& t) { t.g_idx = full({128}, -1, DType::kI32); }), kBadFile, "g_idx[0] is -1");
  EXPECT_ERROR(assemble([](GptqTensors& t) { t.g_idx = zeros({100}, DType::kI32); }), kBadFile, "expected i32 [128]");
  EXPECT_ERROR(assemble([](GptqTensors& t) {
                 std::vector<int32_t> lopsided(128, 1);
                 lopsided[0] = 0;
                 t.g_idx = from_vector(lopsided, {128});
               }),
               kUnsupported, "does not fill whole blocks");
  EXPECT_ERROR(assemble([](GptqTensors& t) {
                 t.qweight = zeros({3, 16}, DType::kI32);
               }),
               kUnsupported, "multiple of 32");
  EXPECT_ERROR(assemble([](GptqTensors& t) { t.qweight = zeros({16, 16}); }), kBadFile, "not an i32 matrix");
}

TEST(Awq, InterleavedNibbles) {
  const Layer layer;
  const QuantConfig config{QuantConfig::Method::kAwq, 4, 64, false};
  const LoadedWeight loaded = assemble_awq(layer.awq(), config, "layer");
  EXPECT_EQ(loaded.weight.dtype(), DType::kGroup4);
  EXPECT_EQ(decoded(loaded.weight), layer.weights());
  AwqTensors tensors = layer.awq();
  tensors.qzeros = zeros({1, 2}, DType::kI32);
  EXPECT_ERROR(assemble_awq(tensors, config, "layer"), kBadFile, "layer.qzeros is i32 [1, 2], expected i32 [2, 2]");
}

TEST(QuantConfig, ReadsWhatTheHubWrites) {
  const auto read = [](const std::string& settings) {
    return read_quant_config(Json::parse(R"({"quantization_config": )" + settings + "}", "config.json"));
  };
  EXPECT_EQ(read_quant_config(Json::parse("{}", "config.json")).method, QuantConfig::Method::kNone);
  const QuantConfig gptq =
      read(R"({"quant_method": "gptq", "bits": 8, "group_size": 32, "desc_act": true, "sym": true})");
  EXPECT_EQ(gptq.method, QuantConfig::Method::kGptq);
  EXPECT_EQ(gptq.bits, 8);
  EXPECT_EQ(gptq.group_size, 32);
  EXPECT_TRUE(gptq.zero_offset);
  EXPECT_FALSE(read(R"({"quant_method": "gptq", "bits": 4, "checkpoint_format": "gptq_v2"})").zero_offset);
  EXPECT_EQ(read(R"({"quant_method": "awq", "bits": 4, "version": "GEMM"})").method, QuantConfig::Method::kAwq);
  EXPECT_EQ(read(R"({"quant_method": "compressed-tensors", "format": "int-quantized"})").method,
            QuantConfig::Method::kCompressed);
  EXPECT_ERROR(read(R"({"quant_method": "gptq", "bits": 3})"), kUnsupported, "GPTQ with 3 bits is not supported");
  EXPECT_ERROR(read(R"({"quant_method": "gptq", "bits": 4, "group_size": 20})"), kUnsupported, "a group_size of 20");
  EXPECT_ERROR(read(R"({"quant_method": "gptq", "bits": 4, "checkpoint_format": "marlin"})"), kUnsupported, "'marlin'");
  EXPECT_ERROR(read(R"({"quant_method": "awq", "bits": 4, "version": "gemv"})"), kUnsupported,
               "'gemv' is not supported");
  EXPECT_ERROR(read(R"({"quant_method": "eetq"})"), kUnsupported, "'eetq' is not supported");
  EXPECT_ERROR(read(R"({"quant_method": "gptq", "bits": 4, "dynamic": {"+:.*down": {"bits": 8}}})"), kUnsupported,
               "settings of their own");
  EXPECT_ERROR(read(R"({"bits": 4})"), kBadFile, "quant_method");
}

TEST(FloatBlocks, Mxfp4) {
  constexpr float kValues[16] = {0, .5, 1, 1.5, 2, 3, 4, 6, -0.f, -.5, -1, -1.5, -2, -3, -4, -6};
  std::vector<uint8_t> bytes;
  bytes.reserve(2 * 3 * 2 * 16);
  for (int i = 0; i < 2 * 3 * 2 * 16; ++i) bytes.push_back(static_cast<uint8_t>(i * 29));
  const Tensor blocks = from_vector(bytes, {2, 3, 2, 16});
  const Tensor scales = full({2, 3, 2}, 128, DType::kU8);  // 2^1
  const Tensor packed = assemble_mxfp4(blocks, scales, "w");
  EXPECT_EQ(packed.shape(), Shape({2, 3, 64}));
  const auto values = decoded(packed);
  for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], 2 * kValues[bytes[i / 2] >> (i % 2 * 4) & 15]) << i;
  EXPECT_ERROR(assemble_mxfp4(blocks, zeros({2, 3}, DType::kU8), "w"), kBadFile, "expected u8 [..., n, 16]");
}

}  // namespace
}  // namespace wick
