// What is wrong with a model is said in one sentence before any weight is read.
#include <gtest/gtest.h>

#include "formats/safetensors/safetensors_writer.h"
#include "support/model_fixtures.h"
#include "support/temp_folder.h"
#include "support/tiny_models.h"

namespace wick {
namespace {

std::string load_error(const std::filesystem::path& folder, const ModelOptions& options = {}) {
  try {
    load_model(WeightSource(Checkpoint::open(folder)), options);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

struct BadConfig {
  const char* name;
  const char* family;
  const char* from;
  const char* to;
  const char* message;  // is part of it
};
const BadConfig kBadConfigs[] = {
    {"layers", "llama", "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3",
     "tensor 'model.layers.2.input_layernorm.weight' [64] is missing (and 8 more)"},
    {"no_layers", "llama", "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 0", "num_hidden_layers = 0"},
    {"many_layers", "llama", "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1000000000",
     "num_hidden_layers = 1000000000, expected 1 to 4096"},
    {"hidden", "llama", "\"hidden_size\": 64", "\"hidden_size\": 48",
     "tensor 'model.embed_tokens.weight' is [192, 64], but the settings make it [192, 48]"},
    {"heads", "llama", "\"num_attention_heads\": 4", "\"num_attention_heads\": 1073741824", "which is out of range"},
    {"heads_text", "llama", "\"num_attention_heads\": 4", "\"num_attention_heads\": \"four\"",
     "'num_attention_heads' is text, expected a whole number"},
    {"kv_heads", "llama", "\"num_key_value_heads\": 2", "\"num_key_value_heads\": 3",
     "4 query heads share 3 key heads, which does not divide"},
    {"head_dim", "llama", "\"head_dim\": 16", "\"head_dim\": 17", "17 of 17 components of a head turn"},
    {"theta", "llama", "\"rope_theta\": 10000.0", "\"rope_theta\": -1", "rope_theta = -1, expected a number above 0"},
    {"rope_kind", "llama3-rope", "\"rope_type\": \"llama3\"", "\"rope_type\": \"llama4\"",
     "asks for the rope kind 'llama4'; known are default, linear, dynamic, llama3, yarn, longrope and "
     "proportional"},
    {"rope_factor", "llama3-rope", "\"factor\": 8.0", "\"factor\": 0", "a rope factor of 0"},
    {"rope_order", "llama3-rope", "\"high_freq_factor\": 4.0", "\"high_freq_factor\": 0.5",
     "rope frequency factors of 1 and 0.5"},
    {"context", "llama", "\"max_position_embeddings\": 256", "\"max_position_embeddings\": 0",
     "max_position_embeddings = 0"},
    {"vocabulary", "llama", "\"vocab_size\": 192", "\"vocab_size\": 191", "but the settings make it [191, 64]"},
    {"activation", "llama", "\"hidden_act\": \"silu\"", "\"hidden_act\": \"sine\"",
     "the activation 'sine' is not known; known are silu"},
    {"extra_bias", "qwen2", "\"model_type\": \"qwen2\"", "\"model_type\": \"llama\"",
     "tensor 'model.layers.0.self_attn.k_proj.bias' is there, but nothing in the settings uses it (and 5 more)"},
    {"extra_norm", "qwen3", "\"model_type\": \"qwen3\"", "\"model_type\": \"llama\"",
     "is there, but nothing in the settings uses it"},
    {"missing_norm", "llama", "\"model_type\": \"llama\"", "\"model_type\": \"qwen3\"",
     "tensor 'model.layers.0.self_attn.q_norm.weight' [16] is missing (and 3 more)"},
    {"tied", "llama", "\"model_type\": \"llama\"", "\"model_type\": 7", "'model_type' is a number, expected text"},
    {"experts", "mixtral", "\"num_experts_per_tok\": 2", "\"num_experts_per_tok\": 9",
     "the experts per token = 9, expected 1 to 4"},
    {"layer_types", "gemma3", "\"sliding_attention\",", "", "layer_types names 1 layers, num_hidden_layers is 2"},
    {"window", "mistral", "\"sliding_window\": 8", "\"sliding_window\": -8", "sliding_window = -8"},
    {"positions", "gpt2", "\"n_positions\": 256", "\"n_positions\": 300",
     "is [256, 64], but the settings make it [300, 64]"},
};

class BadConfigTest : public testing::TestWithParam<BadConfig> {};

TEST_P(BadConfigTest, SaysWhatIsWrong) {
  WICK_NEEDS_FIXTURE(GetParam().family);
  const TempFolder temp;
  copy_model(family_folder(GetParam().family), temp.path(), GetParam().from, GetParam().to);
  const std::string message = load_error(temp.path());
  EXPECT_NE(message.find(GetParam().message), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(All, BadConfigTest, testing::ValuesIn(kBadConfigs),
                         [](const auto& test) { return std::string(test.param.name); });

// The llama fixture with one change to its tensors.
std::string error_with(const std::function<void(std::vector<std::pair<std::string, Tensor>>&)>& change) {
  const auto folder = family_folder("llama");
  const Checkpoint checkpoint = Checkpoint::open(folder);
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const TensorEntry& entry : checkpoint.entries()) tensors.emplace_back(entry.name, checkpoint.get(entry).clone());
  change(tensors);
  std::ifstream in(folder / "config.json");
  const std::string config((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const TempFolder temp;
  write_checkpoint(temp.path(), config, tensors);
  return load_error(temp.path());
}

TEST(BadTensorsTest, ARenamedTensorIsNamedWithItsNeighbour) {
  const std::string message = error_with([](auto& tensors) {
    for (auto& [name, tensor] : tensors) {
      if (name == "model.layers.1.mlp.up_proj.weight") name = "model.layers.1.mlp.upp_proj.weight";
    }
  });
  EXPECT_NE(message.find("tensor 'model.layers.1.mlp.up_proj.weight' [96, 64] is missing; did you mean "
                         "'model.layers.1.mlp.upp_proj.weight'?"),
            std::string::npos)
      << message;
}

TEST(BadTensorsTest, ANormWithNanIsRefused) {
  const std::string message = error_with([](auto& tensors) {
    for (auto& [name, tensor] : tensors) {
      if (name == "model.norm.weight") tensor.template mutable_data<float>()[3] = NAN;
    }
  });
  EXPECT_EQ(message, "tensor 'model.norm.weight' has nan at index 3");
}

TEST(LoadingTest, TellsHowFarItIs) {
  int64_t last = 0, whole = 0;
  ModelOptions options;
  options.progress = [&](int64_t done, int64_t total) {
    EXPECT_GE(done, last);
    EXPECT_LE(done, total);
    last = done;
    whole = total;
  };
  const Checkpoint checkpoint = Checkpoint::open(family_folder("llama"));
  load_model(WeightSource(checkpoint), options);
  int64_t bytes = 0;
  for (const TensorEntry& entry : checkpoint.entries()) bytes += entry.bytes;
  EXPECT_EQ(whole, bytes);
  EXPECT_EQ(last, bytes);
}

TEST(BadOptionsTest, AreNamed) {
  ModelOptions options;
  options.context = -5;
  EXPECT_EQ(load_error(family_folder("llama"), options), "a context of -5 tokens is asked for");
  options.context = 1000;
  EXPECT_EQ(load_error(family_folder("gpt2"), options),
            "a context of 1000 is asked for, but this gpt2 knows 256 positions");
  options = {};
  options.quantize = "q9";
  EXPECT_NE(load_error(family_folder("llama"), options).find("q9"), std::string::npos);
}

}  // namespace
}  // namespace wick
