// What is wrong with a speech model is said in one sentence before any weight is read.
#include <gtest/gtest.h>

#include <functional>

#include "speech/qwen3_asr/qwen3_asr.h"
#include "support/errors.h"
#include "support/model_fixtures.h"
#include "support/temp_folder.h"
#include "support/tiny_models.h"
#include "tensor/create.h"

namespace wick {
namespace {

std::string load_error(const std::filesystem::path& folder, const ModelOptions& options = {}) {
  try {
    Qwen3Asr::load(folder, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

struct BadConfig {
  const char* name;
  const char* from;
  const char* to;
  const char* message;  // is part of it
};
const BadConfig kBadConfigs[] = {
    {"width", "\"d_model\": 64", "\"d_model\": 60", "but the settings make it"},
    {"no_width", "\"d_model\": 64", "\"d_model\": 0", "config.json: d_model = 0, expected 1 to 65536"},
    {"odd_width", "\"d_model\": 64,", "\"d_model\": 2,", "config.json: d_model = 2, which does not divide by "},
    {"text_width", "\"d_model\": 64", "\"d_model\": \"wide\"", "d_model' is text, expected a whole number"},
    {"missing", "\"d_model\": 64,", "", "audio_config' has no 'd_model'"},
    {"heads", "\"encoder_attention_heads\": 4", "\"encoder_attention_heads\": 3",
     "d_model = 64, which does not divide by encoder_attention_heads = 3"},
    {"layers", "\"encoder_layers\": 2", "\"encoder_layers\": 3",
     "audio_tower.layers.2.self_attn_layer_norm.weight' [64] is missing (and 15 more)"},
    {"fewer_layers", "\"encoder_layers\": 2", "\"encoder_layers\": 1", "no error"},
    {"many_layers", "\"encoder_layers\": 2", "\"encoder_layers\": 5000", "encoder_layers = 5000, expected 1 to 4096"},
    {"window", "\"n_window_infer\": 200", "\"n_window_infer\": 150",
     "n_window_infer = 150, expected a multiple of 100, twice n_window"},
    {"no_window", "\"n_window\": 50", "\"n_window\": -50", "n_window = -50, expected 1 to 4096"},
    {"bins", "\"num_mel_bins\": 128", "\"num_mel_bins\": 80",
     "audio_tower.conv_out.weight' is [64, 256], but the settings make it [64, 160]"},
    {"output", "\"output_dim\": 64", "\"output_dim\": 128", "output_dim = 128, expected the text's hidden_size, 64"},
    {"activation", "\"activation_function\": \"gelu\"", "\"activation_function\": \"sine\"",
     "the activation 'sine' is not known"},
    {"token", "\"audio_token_id\": 180", "\"audio_token_id\": 192",
     "audio_token_id = 192, which is outside the vocabulary of 192"},
    {"no_token", "\"audio_token_id\": 180", "\"audio_token\": 180", "audio_token_id"},
    {"text_layers", "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3",
     "layers.2.input_layernorm.weight' [64] is missing (and 10 more)"},
    {"kv_heads", "\"num_key_value_heads\": 2", "\"num_key_value_heads\": 3",
     "4 query heads share 3 key heads, which does not divide"},
};

class BadSpeechConfigTest : public testing::TestWithParam<BadConfig> {};

TEST_P(BadSpeechConfigTest, SaysWhatIsWrong) {
  for (const char* layout : {"qwen3_asr", "qwen3_asr-thinker"}) {
    SCOPED_TRACE(layout);
    const TempFolder temp;
    copy_model(family_folder(layout), temp.path(), GetParam().from, GetParam().to);
    const std::string message = load_error(temp.path());
    EXPECT_NE(message.find(GetParam().message), std::string::npos) << message;
  }
}

INSTANTIATE_TEST_SUITE_P(All, BadSpeechConfigTest, testing::ValuesIn(kBadConfigs),
                         [](const auto& test) { return std::string(test.param.name); });

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// A copy of a fixture with other tensors.
void copy_with(const char* layout, const std::filesystem::path& copy,
               const std::function<void(NamedTensors&)>& change) {
  const auto folder = family_folder(layout);
  const Checkpoint checkpoint = Checkpoint::open(folder / "model.safetensors");
  NamedTensors tensors;
  for (const TensorEntry& entry : checkpoint.entries()) tensors.emplace_back(entry.name, checkpoint.get(entry).clone());
  change(tensors);
  std::ifstream in(folder / "config.json");
  const std::string config((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  write_checkpoint(copy, config, tensors);
}

std::string error_with_renamed(const char* layout, const std::string& from, const std::string& to) {
  const TempFolder temp;
  copy_with(layout, temp.path(), [&](NamedTensors& tensors) {
    for (auto& [name, tensor] : tensors) {
      if (name == from) name = to;
    }
  });
  return load_error(temp.path());
}

TEST(BadSpeechTensorsTest, AreNamedWithTheirNeighbours) {
  const auto has = [](const std::string& message, std::string_view part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  has(error_with_renamed("qwen3_asr", "model.audio_tower.layers.1.fc1.weight",
                         "model.audio_tower.layers.1.fc_1.weight"),
      "tensor 'model.audio_tower.layers.1.fc1.weight' [128, 64] is missing; did you mean "
      "'model.audio_tower.layers.1.fc_1.weight'?");
  has(error_with_renamed("qwen3_asr-thinker", "thinker.audio_tower.proj2.bias", "thinker.audio_tower.proj3.bias"),
      "tensor 'thinker.audio_tower.proj2.bias' [64] is missing");
  has(error_with_renamed("qwen3_asr-thinker", "thinker.lm_head.weight", "thinker.lm_hat.weight"),
      "tensor 'thinker.lm_head.weight' [192, 64] is missing; did you mean 'thinker.lm_hat.weight'?");
  has(error_with_renamed("qwen3_asr", "model.multi_modal_projector.linear_1.bias",
                         "model.audio_tower.layers.0.self_attn.q_norm.weight"),
      "tensor 'model.multi_modal_projector.linear_1.bias' [64] is missing");
}

TEST(SpeechPlanTest, ListsWhatIsUnusedInBothStacks) {
  for (const char* layout : {"qwen3_asr", "qwen3_asr-thinker"}) {
    const WeightSource source(Checkpoint::open(family_folder(layout) / "model.safetensors"));
    const ModelPlan plan = Qwen3Asr::plan(source);
    EXPECT_EQ(plan.family, "qwen3_asr");
    EXPECT_TRUE(plan.preflight.ok()) << plan.preflight.sentence();
    EXPECT_EQ(plan.preflight.wanted, static_cast<int64_t>(source.names().size()));
  }
  const std::vector<std::string> more = {"model.language_model.layers.1.self_attn.q_proj.bias",
                                         "model.audio_tower.layers.0.self_attn.q_norm.weight"};
  const TempFolder temp;
  copy_with("qwen3_asr", temp.path(), [&](NamedTensors& tensors) {
    for (const std::string& name : more) tensors.emplace_back(name, zeros({4}));
  });
  EXPECT_EQ(Qwen3Asr::plan(WeightSource(Checkpoint::open(temp.path()))).preflight.unused, more);
}

TEST(SpeechLoadingTest, CountsBothParts) {
  const auto folder = family_folder("qwen3_asr");
  int64_t last = 0;
  ModelOptions options;
  options.progress = [&](int64_t done, int64_t) { last = std::max(last, done); };
  const auto model = Qwen3Asr::load(folder, options);
  int64_t parameters = 0, bytes = 0;
  const Checkpoint whole = Checkpoint::open(folder / "model.safetensors");
  for (const TensorEntry& entry : whole.entries()) {
    parameters += entry.shape.numel();
    bytes += entry.bytes;
  }
  EXPECT_EQ(model->parameters(), parameters);
  EXPECT_EQ(last, bytes);
  EXPECT_LT(model->decoder().facts().parameters, parameters);
  EXPECT_EQ(model->decoder().facts().max_context, 4096);
  EXPECT_EQ(model->audio_token(), 180);
}

TEST(SpeechLoadingTest, RefusesOtherModels) {
  EXPECT_ERROR(Qwen3Asr::load(family_folder("llama")), kUnsupported, "is not that of a qwen3_asr");
  EXPECT_FALSE(is_qwen3_asr(Json()));
  ModelOptions options;
  options.context = -1;
  EXPECT_EQ(load_error(family_folder("qwen3_asr"), options), "a context of -1 tokens is asked for");
}

}  // namespace
}  // namespace wick
