// Models with packed weights on CUDA, against the same weights unpacked, in f32 on the CPU.
#if WICK_CUDA
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <iostream>
#include <numeric>
#include <random>

#include "models/random_model.h"
#include "ops/ops.h"
#include "support/model_fixtures.h"
#include "support/needs_cuda.h"
#include "support/temp_folder.h"
#include "support/tiny_models.h"
#include "tensor/create.h"

namespace wick {
namespace {

using Tensors = std::vector<std::pair<std::string, Tensor>>;

class CudaPacked : public NeedsCuda<> {
 protected:
  std::filesystem::path folder(const char* name) const { return temp_.path() / name; }

  //   // Compares logits of a prompt, and of tokens one by one, with those of the same weights in f32 on the CPU: they
  //   are as
  // near as what the packed weights give there, with activations in 8 bits, or nearer than 0.4 %.
  void expect_near(const std::function<TestModel(const ModelOptions&)>& packed, const TestModel& plain,
                   const std::string& what) {
    const TestModel device = packed(on_cuda()), host = packed({});
    const auto vocabulary = static_cast<int32_t>(plain.model->facts().vocabulary);
    const std::vector<int32_t> text = some_tokens(70, 31, vocabulary);
    TestSequence here(plain), there(device), single(device), rounded(host);
    const Tensor expected = here.run(plain, text);
    const double of_host = relative_error(rounded.run(host, text), expected);
    const double error = relative_error(there.run(device, text).to_device(Device::cpu()), expected);
    const double most = std::max(4e-3, 1.3 * of_host);
    std::cout << what << ": " << error << ", on the CPU " << of_host << "\n";
    EXPECT_LE(error, most) << what;
    single.run(device, std::span(text).first(60));
    for (size_t i = 60; i < 66; ++i) {
      const Tensor next = single.run(device, std::span(text).subspan(i, 1));
      EXPECT_LE(relative_error(next, narrow(expected, 0, static_cast<int64_t>(i), 1)), 2 * most)
          << what << " token " << i;
    }
  }

  // The checkpoint in a folder, against the same without packed weights.
  void expect_near(const char* name, const std::string& config, const Tensors& unpacked) {
    write_checkpoint(folder("unpacked"), config, unpacked);
    expect_near([&](const ModelOptions& options) { return TestModel(folder(name), options); },
                TestModel(folder("unpacked")), name);
  }

  static ModelOptions on_cuda() {
    ModelOptions options;
    options.device = Device::cuda();
    return options;
  }

  const TempFolder temp_;
};

TEST_F(CudaPacked, GgufTypes) {
  // All experts are used: which of them are chosen may hang on the last bit.
  const ModelShape shapes[] = {
      {"dense", "llama", 2, 256, 4, 2, 64, 512, 320, 512, 1e4, false, ""},
      {"experts", "qwen3_moe", 2, 256, 4, 2, 64, 512, 320, 512, 1e4, true,
       R"("num_experts": 4, "num_experts_per_tok": 4, "moe_intermediate_size": 256, "norm_topk_prob": true)"}};
  for (const ModelShape& shape : shapes) {
    for (const std::string_view plan : QuantizePlan::names()) {
      if (plan == "auto" || plan == "none" || plan == "int8" || plan == "bf16") continue;
      const WeightSource source(Checkpoint::parse(random_gguf(shape, QuantizePlan::named(plan))));
      ModelOptions unpacked;
      unpacked.quantize = "f32";
      expect_near([&](const ModelOptions& options) { return TestModel(source, options); }, TestModel(source, unpacked),
                  cat(shape.name, " ", plan));
    }
  }
}

// A matrix [out, in] as integers with a scale and a zero for each group of inputs.
struct GroupedMatrix {
  static constexpr int64_t kGroup = 32;
  int64_t out, in;
  int bits;
  std::vector<int> codes;         // [in, out]
  std::vector<int> zeros;         // [groups, out]
  std::vector<float> scales;      // [groups, out]
  std::vector<int32_t> group_of;  // [in]

  GroupedMatrix(const Tensor& weight, int bits_, bool shuffled) : out(weight.dim(0)), in(weight.dim(1)), bits(bits_) {
    const std::vector<float> w = weight.to_vector<float>();
    const int64_t groups = in / kGroup;
    const int top = (1 << bits) - 1;
    for (int64_t i = 0; i < in; ++i) group_of.push_back(static_cast<int32_t>(i / kGroup));
    if (shuffled) std::shuffle(group_of.begin(), group_of.end(), std::mt19937(11));
    codes.resize(static_cast<size_t>(in * out));
    zeros.resize(static_cast<size_t>(groups * out));
    scales.resize(static_cast<size_t>(groups * out));
    for (int64_t g = 0; g < groups; ++g) {
      for (int64_t o = 0; o < out; ++o) {
        float low = 0, high = 0;
        for (int64_t i = 0; i < in; ++i) {
          if (group_of[static_cast<size_t>(i)] != g) continue;
          low = std::min(low, w[static_cast<size_t>(o * in + i)]);
          high = std::max(high, w[static_cast<size_t>(o * in + i)]);
        }
        const auto at = static_cast<size_t>(g * out + o);
        scales[at] = static_cast<float>(Half(std::max((high - low) / static_cast<float>(top), 1e-4f)));
        zeros[at] = std::clamp(static_cast<int>(std::lround(-low / scales[at])), 1, top);
        for (int64_t i = 0; i < in; ++i) {
          if (group_of[static_cast<size_t>(i)] != g) continue;
          const float steps = w[static_cast<size_t>(o * in + i)] / scales[at];
          codes[static_cast<size_t>(i * out + o)] =
              std::clamp(static_cast<int>(std::lround(steps)) + zeros[at], 0, top);
        }
      }
    }
  }

  Tensor unpacked() const {  // [out, in]
    Tensor w = empty({out, in});
    for (int64_t o = 0; o < out; ++o) {
      for (int64_t i = 0; i < in; ++i) {
        const auto at = static_cast<size_t>(group_of[static_cast<size_t>(i)] * out + o);
        w.mutable_data<float>()[o * in + i] =
            scales[at] * static_cast<float>(codes[static_cast<size_t>(i * out + o)] - zeros[at]);
      }
    }
    return w;
  }

  Tensor scale_tensor() const { return from_vector(scales, {in / kGroup, out}).to_dtype(DType::kF16); }

  void append_gptq(Tensors& tensors, const std::string& name) const {
    const int64_t per_word = 32 / bits;
    std::vector<uint32_t> words(codes.size() / static_cast<size_t>(per_word));
    std::vector<uint32_t> zero_words(zeros.size() / static_cast<size_t>(per_word));
    for (int64_t i = 0; i < in; ++i) {
      for (int64_t o = 0; o < out; ++o) {
        words[static_cast<size_t>(i / per_word * out + o)] |=
            static_cast<uint32_t>(codes[static_cast<size_t>(i * out + o)]) << i % per_word * bits;
      }
    }
    for (size_t i = 0; i < zeros.size(); ++i) {  // stored one less
      zero_words[i / static_cast<size_t>(per_word)] |= static_cast<uint32_t>(zeros[i] - 1)
                                                       << i % static_cast<size_t>(per_word) * static_cast<size_t>(bits);
    }
    tensors.emplace_back(name + ".qweight", as_i32(words, {in / per_word, out}));
    tensors.emplace_back(name + ".qzeros", as_i32(zero_words, {in / kGroup, out / per_word}));
    tensors.emplace_back(name + ".scales", scale_tensor());
    tensors.emplace_back(name + ".g_idx", from_vector(group_of, {in}));
  }

  void append_awq(Tensors& tensors, const std::string& name) const {
    constexpr int kOrder[8] = {0, 2, 4, 6, 1, 3, 5, 7};
    const auto pack = [&](const std::vector<int>& values, int64_t rows) {
      std::vector<uint32_t> words(values.size() / 8);
      for (size_t word = 0; word < words.size(); ++word) {
        for (size_t i = 0; i < 8; ++i) {
          words[word] |= static_cast<uint32_t>(values[word * 8 + static_cast<size_t>(kOrder[i])]) << 4 * i;
        }
      }
      return as_i32(words, {rows, out / 8});
    };
    tensors.emplace_back(name + ".qweight", pack(codes, in));
    tensors.emplace_back(name + ".qzeros", pack(zeros, in / kGroup));
    tensors.emplace_back(name + ".scales", scale_tensor());
  }

  static Tensor as_i32(const std::vector<uint32_t>& words, const Shape& shape) {
    return from_vector(std::vector<int32_t>(words.begin(), words.end()), shape);
  }
};

std::string config_of(const std::filesystem::path& folder, const std::string& quantization = "") {
  std::ifstream in(folder / "config.json");
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!quantization.empty()) text.insert(text.find('{') + 1, cat(R"("quantization_config": )", quantization, ","));
  return text;
}

bool is_projection(const std::string& name) { return name.ends_with("_proj.weight"); }
std::string stem_of(const std::string& name) { return name.substr(0, name.size() - std::strlen(".weight")); }

TEST_F(CudaPacked, GptqAndAwq) {
  struct Case {
    const char *name, *quantization;
    int bits;
    bool shuffled, awq;
  };
  const auto original = family_folder("llama");
  const Checkpoint checkpoint = Checkpoint::open(original);
  for (const Case& of :
       {Case{"gptq4", R"({"quant_method": "gptq", "bits": 4, "group_size": 32})", 4, false, false},
        {"gptq8", R"({"quant_method": "gptq", "bits": 8, "group_size": 32})", 8, false, false},
        {"gptq4-act-order", R"({"quant_method": "gptq", "bits": 4, "group_size": 32, "desc_act": true})", 4, true,
         false},
        {"awq", R"({"quant_method": "awq", "bits": 4, "group_size": 32, "version": "gemm"})", 4, false, true}}) {
    Tensors packed, unpacked;
    for (const TensorEntry& entry : checkpoint.entries()) {
      const Tensor weight = checkpoint.get(entry);
      if (!is_projection(entry.name)) {
        packed.emplace_back(entry.name, weight);
        unpacked.emplace_back(entry.name, weight);
        continue;
      }
      const GroupedMatrix grouped(weight, of.bits, of.shuffled);
      unpacked.emplace_back(entry.name, grouped.unpacked());
      if (of.awq) {
        grouped.append_awq(packed, stem_of(entry.name));
      } else {
        grouped.append_gptq(packed, stem_of(entry.name));
      }
    }
    write_checkpoint(folder(of.name), config_of(original, of.quantization), packed);
    expect_near(of.name, config_of(original), unpacked);
  }
}

TEST_F(CudaPacked, Int8Channels) {
  const auto original = family_folder("llama");
  const Checkpoint checkpoint = Checkpoint::open(original);
  Tensors packed, unpacked;
  for (const TensorEntry& entry : checkpoint.entries()) {
    const Tensor weight = checkpoint.get(entry);
    if (!is_projection(entry.name) || weight.dim(1) % 64 != 0) {
      packed.emplace_back(entry.name, weight);
      unpacked.emplace_back(entry.name, weight);
      continue;
    }
    const Tensor scale = div(max(abs(weight), {1}, true), 127.0);
    const Tensor codes = round(div(weight, scale));
    packed.emplace_back(entry.name, codes.to_dtype(DType::kI8));
    packed.emplace_back(entry.name + "_scale", scale.contiguous());
    unpacked.emplace_back(entry.name, mul(codes, scale));
  }
  write_checkpoint(folder("int8"),
                   config_of(original, R"({"quant_method": "compressed-tensors", "format": "int-quantized"})"), packed);
  expect_near("int8", config_of(original), unpacked);
}

// Experts [experts, in, out] of GPT-OSS, which are stored in MXFP4 as [experts, out, in]: two codes a byte, blocks of
// 32 with an exponent.
TEST_F(CudaPacked, Mxfp4Experts) {
  constexpr float kValues[8] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  const auto original = family_folder("gpt_oss");
  const Checkpoint checkpoint = Checkpoint::open(original);
  Tensors packed, unpacked;
  for (const TensorEntry& entry : checkpoint.entries()) {
    const Tensor weight = checkpoint.get(entry).to_dtype(DType::kF32);
    if (!entry.name.ends_with("experts.gate_up_proj") && !entry.name.ends_with("experts.down_proj")) {
      packed.emplace_back(entry.name, weight);
      unpacked.emplace_back(entry.name, weight);
      continue;
    }
    const Tensor rows = transpose(weight, 1, 2).contiguous();
    const std::vector<float> w = rows.to_vector<float>();
    const int64_t experts = rows.dim(0), out = rows.dim(1), blocks = rows.dim(2) / 32;
    Tensor codes = zeros({experts, out, blocks, 16}, DType::kU8), scales = empty({experts, out, blocks}, DType::kU8);
    std::vector<float> decoded;
    for (size_t b = 0; b < w.size() / 32; ++b) {
      float most = 0;
      for (size_t i = 0; i < 32; ++i) most = std::max(most, std::abs(w[b * 32 + i]));
      const int exponent = most > 0 ? static_cast<int>(std::floor(std::log2(most))) - 2 : 0;
      scales.mutable_data<uint8_t>()[b] = static_cast<uint8_t>(exponent + 127);
      for (size_t i = 0; i < 32; ++i) {
        const float x = std::ldexp(w[b * 32 + i], -exponent);
        int best = 0;
        for (int c = 1; c < 8; ++c) {
          if (std::abs(std::abs(x) - kValues[c]) < std::abs(std::abs(x) - kValues[best])) best = c;
        }
        const int code = best | (x < 0 ? 8 : 0);
        codes.mutable_data<uint8_t>()[b * 16 + i / 2] |= static_cast<uint8_t>(code << i % 2 * 4);
        decoded.push_back(std::ldexp(x < 0 ? -kValues[best] : kValues[best], exponent));
      }
    }
    packed.emplace_back(entry.name + "_blocks", codes);
    packed.emplace_back(entry.name + "_scales", scales);
    unpacked.emplace_back(entry.name, transpose(from_vector(decoded, rows.shape()), 1, 2).contiguous());
  }
  write_checkpoint(folder("mxfp4"), config_of(original, R"({"quant_method": "mxfp4"})"), packed);
  expect_near("mxfp4", config_of(original), unpacked);
}

}  // namespace
}  // namespace wick
#endif  // WICK_CUDA
