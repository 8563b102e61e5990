// Loading a model streams: the peak of resident memory stays within 1.1 times what the loaded weights take.
#include <gtest/gtest.h>
#include <malloc.h>

#include <fstream>
#include <string>

#include "base/text.h"
#include "base/thread_pool.h"
#include "formats/convert_weight.h"
#include "formats/gguf/gguf_export.h"
#include "formats/weights.h"
#include "support/temp_folder.h"
#include "support/tiny_models.h"
#include "tensor/create.h"

namespace wick {
namespace {

int64_t status_bytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(field + ":", 0) == 0) return std::stoll(line.substr(field.size() + 1)) * 1024;
  }
  return -1;
}

// Makes VmHWM start anew from what is resident now.
bool reset_peak() {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5";
  return status_bytes("VmHWM") >= 0 && status_bytes("VmHWM") - status_bytes("VmRSS") < (1 << 20);
}

using Tensors = std::vector<std::pair<std::string, Tensor>>;

constexpr int64_t kHidden = 1024, kInner = 2816, kVocab = 16000;
constexpr int kLayers = 8;

struct Matrix {
  std::string name;
  int64_t out, in;
};

std::vector<Matrix> matrices() {
  std::vector<Matrix> list;
  for (int i = 0; i < kLayers; ++i) {
    const std::string layer = cat("model.layers.", i, ".");
    for (const std::string_view part : {"q", "k", "v", "o"}) {
      list.push_back({cat(layer, "self_attn.", part, "_proj"), kHidden, kHidden});
    }
    list.push_back({cat(layer, "mlp.gate_proj"), kInner, kHidden});
    list.push_back({cat(layer, "mlp.up_proj"), kInner, kHidden});
    list.push_back({cat(layer, "mlp.down_proj"), kHidden, kInner});
  }
  return list;
}

std::string config(std::string_view more = "") {
  return cat(R"({"model_type": "llama", "hidden_size": 1024, "intermediate_size": 2816, "num_hidden_layers": 8,
      "num_attention_heads": 8, "num_key_value_heads": 8, "max_position_embeddings": 128, "vocab_size": 16000,
      "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": true)",
             more, "}");
}

// 200 MB of bf16, an eighth of it in the embedding.
void write_bf16(const std::filesystem::path& folder) {
  Tensors tensors = {{"model.embed_tokens.weight", full({kVocab, kHidden}, 0.25, DType::kBF16)},
                     {"model.norm.weight", ones({kHidden}, DType::kBF16)}};
  for (const Matrix& m : matrices()) {
    tensors.emplace_back(m.name + ".weight", full({m.out, m.in}, 0.5, DType::kBF16));
  }
  write_checkpoint(folder, config(), tensors);
}

void write_gptq(const std::filesystem::path& folder) {
  Tensors tensors;
  for (const Matrix& m : matrices()) {
    tensors.emplace_back(m.name + ".qweight", full({m.in / 8, m.out}, 0x12345678, DType::kI32));
    tensors.emplace_back(m.name + ".qzeros", full({m.in / 128, m.out / 8}, 0x77777777, DType::kI32));
    tensors.emplace_back(m.name + ".scales", ones({m.in / 128, m.out}, DType::kF16));
  }
  write_checkpoint(folder, config(R"(, "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 128})"),
                   tensors);
}

// Reads every page, as a first forward pass would.
unsigned touched(const Tensor& tensor) {
  const int64_t bytes = bytes_of(tensor.dtype(), tensor.numel());
  unsigned sum = 0;
  for (int64_t i = 0; i < bytes; i += 512) sum += std::to_integer<unsigned>(tensor.raw()[i]);
  return sum;
}

void expect_streamed(const std::filesystem::path& path, std::string_view plan_name) {
  const WeightSource source(Checkpoint::open(path));
  const QuantizePlan plan = QuantizePlan::named(plan_name);
  const auto names = source.names();
  parallel_for(64, 1, [](int64_t, int64_t) {});  // starts the threads
  if (!reset_peak()) GTEST_SKIP() << "the peak of memory cannot be reset here";
  const int64_t before = status_bytes("VmRSS");
  std::vector<LoadedWeight> model;
  int64_t final_bytes = 0;
  unsigned sum = 0;
  for (const std::string& name : names) {
    model.push_back(load_weight(source, name, plan));
    sum += touched(model.back().weight);
    final_bytes += bytes_of(model.back().weight.dtype(), model.back().weight.numel());
  }
  const int64_t peak = status_bytes("VmHWM") - before;
  std::printf("%s: %.1f MB of weights, peak %.1f MB, ratio %.3f\n", std::string(plan_name).c_str(),
              static_cast<double>(final_bytes) / 1e6, static_cast<double>(peak) / 1e6,
              static_cast<double>(peak) / static_cast<double>(final_bytes));
  EXPECT_NE(sum, 0u);
  EXPECT_LE(static_cast<double>(peak), 1.1 * static_cast<double>(final_bytes));
}

TEST(LoadingMemory, SafetensorsAsTheyAre) {
  TempFolder temp;
  write_bf16(temp.path());
  expect_streamed(temp.path(), "auto");
}

TEST(LoadingMemory, QuantisedAtLoad) {
  TempFolder temp;
  write_bf16(temp.path());
  expect_streamed(temp.path(), "q8_0");
  expect_streamed(temp.path(), "int8");
}

TEST(LoadingMemory, GgufWithPermutedRows) {
  TempFolder temp;
  write_bf16(temp.path());
  write_gguf(temp.path(), temp.path() / "model.gguf");
  expect_streamed(temp.path() / "model.gguf", "auto");
  expect_streamed(temp.path() / "model.gguf", "q8_0");
}

TEST(LoadingMemory, Gptq) {
  TempFolder temp;
  write_gptq(temp.path());
  expect_streamed(temp.path(), "auto");
}

}  // namespace
}  // namespace wick
