// Every decoder is right or refused: what a config.json says is understood, or named in an error.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <variant>

#include "models/config_check.h"
#include "models/load_model.h"
#include "models/recurrent_cases.h"
#include "support/compare.h"
#include "support/errors.h"
#include "support/model_fixtures.h"
#include "support/reference_models.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

constexpr double kTolerance = 1e-5;

// The logits of the folder's reference text, or the sentence that refuses the model.
std::variant<Tensor, std::string> logits_of(const fs::path& folder, const Checkpoint& reference) {
  try {
    const TestModel model(folder);
    TestSequence sequence(model);
    return sequence.run(model, reference.get("input_ids").to_vector<int32_t>());
  } catch (const Error& error) {
    EXPECT_TRUE(error.code() == ErrorCode::kUnsupported || error.code() == ErrorCode::kBadFile) << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return std::string(error.what());
  }
}

bool is_right_or_refused(const fs::path& folder) {
  const Checkpoint reference = Checkpoint::open(folder / "reference.safetensors");
  const auto outcome = logits_of(folder, reference);
  const auto* logits = std::get_if<Tensor>(&outcome);
  if (!logits) return true;
  const Tensor expected = reference.get("logits");
  return relative_error(*logits, expected.with_layout(expected.layout().squeeze(0))) <= kTolerance;
}

TEST(HonestModels, EveryReferenceIsRightOrRefused) {
  for (const fs::path& folder : text_model_folders()) EXPECT_TRUE(is_right_or_refused(folder)) << folder;
}

// Of these, nothing in the files tells them from Llama: how components of a head are paired.
const std::set<std::string> kLooksLikeLlama = {"helium"};

TEST(HonestModels, EveryReferenceUnderAnUnknownNameIsRightOrRefused) {
  for (const fs::path& folder : text_model_folders()) {
    if (kLooksLikeLlama.count(folder.filename())) continue;
    const std::string type = Json::load(folder / "config.json").get("model_type", "");
    const TempFolder temp;
    copy_model(folder, temp.path(), cat("\"model_type\": \"", type, "\""), "\"model_type\": \"mystery-lm\"");
    EXPECT_TRUE(is_right_or_refused(temp.path())) << folder;
  }
}

class Settings : public testing::Test {
 protected:
  // The model with something added to its config.json: "\"name\": value".
  std::variant<Tensor, std::string> with(const std::string& added) const {
    const TempFolder temp;
    copy_model(folder_, temp.path(), from_, cat(to_, added.empty() ? "" : ", ", added));
    return logits_of(temp.path(), Checkpoint::open(folder_ / "reference.safetensors"));
  }
  void rename(const std::string& to) { to_ = cat("\"model_type\": \"", to, "\""); }

  void expect_refused(const std::string& name, const std::string& value) const {
    const auto outcome = with(cat("\"", name, "\": ", value));
    const auto* sentence = std::get_if<std::string>(&outcome);
    ASSERT_NE(sentence, nullptr) << name << " = " << value << " was ignored";
    EXPECT_NE(sentence->find(name), std::string::npos) << *sentence;
  }
  void expect_same(const std::string& name, const std::string& value) const {
    const auto plain = with(""), outcome = with(cat("\"", name, "\": ", value));
    ASSERT_TRUE(std::holds_alternative<Tensor>(outcome)) << std::get<std::string>(outcome);
    expect_identical(std::get<Tensor>(outcome), std::get<Tensor>(plain), name);
  }

  const fs::path folder_ = family_folder("qwen3");
  const std::string from_ = "\"model_type\": \"qwen3\"";
  std::string to_ = from_;
};

TEST_F(Settings, ThatNobodyKnowsAreRefusedForUnknownTypes) {
  rename("mystery-lm");
  expect_refused("final_logit_softcapping", "30.0");
  expect_refused("embedding_multiplier", "12");
  expect_refused("attention_multiplier", "1.0");
  expect_refused("query_pre_attn_scalar", "32");
  expect_refused("mystery_layers", "3");
  expect_refused("use_mystery", "true");
  expect_refused("mystery", "\"on\"");
  expect_refused("mystery_multipliers", "[1.0, 2.0]");
  expect_refused("scale_attn_weights", "false");
  expect_refused("mystery_config", R"({"depth": 2})");
  expect_refused("rotary_dim", "16");
  expect_refused("hidden_activation", "\"silu\"");
  expect_refused("sliding_window", "8");
}

TEST_F(Settings, ThatChangeNothingArePassedOver) {
  for (const char* type : {"qwen3", "mystery-lm"}) {
    rename(type);
    expect_same("final_logit_softcapping", "null");
    expect_same("use_mystery", "false");
    expect_same("num_mystery_experts", "0");
    expect_same("residual_multiplier", "1.0");
    expect_same("mystery_multipliers", "[1.0, 1]");
    expect_same("initializer_gain", "0.5");
    expect_same("attention_probs_dropout_prob", "0.1");
    expect_same("image_token_id", "7");
    expect_same("_name_or_path", "\"some/where\"");
    expect_same("auto_map", R"({"AutoModel": "modeling.Model"})");
    expect_same("pretraining_tp", "2");
  }
}

TEST_F(Settings, ThatMatterToAnyDecoderAreRefusedWhereTheirFamilyIgnoresThem) {
  expect_refused("attn_logit_softcapping", "50.0");
  expect_refused("logits_scaling", "8");
  expect_refused("attention_multiplier", "1.0");
  expect_refused("alibi", "true");
  expect_refused("scale_attn_by_inverse_layer_idx", "true");
  expect_refused("use_bidirectional_attention", "true");
  expect_refused("kv_lora_rank", "16");
  expect_same("scale_attn_weights", "true");
  expect_same("mystery", "\"on\"");  // families know their files
}

TEST_F(Settings, OfRopeAreAllUnderstood) {
  for (const char* type : {"qwen3", "mystery-lm"}) {
    rename(type);
    const auto outcome = with(R"("rope_scaling": {"rope_type": "default", "spin": 2})");
    // A rope_parameters block comes before rope_scaling, of which nothing may then be left unread.
    const auto* sentence = std::get_if<std::string>(&outcome);
    ASSERT_NE(sentence, nullptr);
    EXPECT_NE(sentence->find("rope_scaling"), std::string::npos) << *sentence;
  }
}

// Another value for a setting, as JSON text; empty: there is none to try.
std::string changed(const Json& value) {
  if (value.is_bool()) return value.as_bool() ? "false" : "true";
  if (value.is_int()) return cat(value.as_int() + 2);
  if (value.is_number()) return cat(value.as_number() == 0 ? 0.5 : value.as_number() * 1.5);
  if (value.is_text()) return "\"mystery\"";
  return {};
}

// Settings that the references cannot show, and why.
const std::set<std::string> kNotSeen = {
    // Their texts are shorter.
    "max_position_embeddings", "n_positions", "context_length",
    // How training begins.
    "time_step_floor", "time_step_max", "time_step_min", "time_step_scale", "time_step_init_scheme",
    "rescale_prenorm_residual", "router_jitter_noise", "input_jitter_noise",
    // How other programs compute the same.
    "chunk_size", "mamba_chunk_size", "mamba_ssm_cache_dtype", "moe_shared_expert_overlap", "use_mamba_kernels",
    "residual_in_fp32", "rescale_every", "use_associative_scan", "use_mambapy",
    // Others come before them in these files, or switch them off.
    "expand", "time_step_rank", "block_ffn_dim_multiplier", "block_multiple_of", "use_sliding_window", "num_kv_heads"};
const std::set<std::pair<std::string, std::string>> kNotSeenOf = {{"glm", "partial_rotary_factor"},
                                                                  {"glm4", "partial_rotary_factor"},
                                                                  {"persimmon", "partial_rotary_factor"},
                                                                  {"stablelm", "partial_rotary_factor"},
                                                                  {"qwen2_moe", "intermediate_size"},
                                                                  {"qwen2_moe", "sliding_window"},
                                                                  {"qwen3_moe", "intermediate_size"},
                                                                  {"dots1", "sliding_window"},
                                                                  {"exaone4", "sliding_window_pattern"},
                                                                  {"smollm3", "no_rope_layer_interval"},
                                                                  {"falcon-new", "multi_query"},
                                                                  {"falcon-new", "parallel_attn"},
                                                                  {"gpt_bigcode", "num_key_value_heads"},
                                                                  {"persimmon", "num_key_value_heads"},
                                                                  {"ernie4_5_moe", "moe_layer_end_index"},
                                                                  {"falcon_h1", "mamba_expand"},
                                                                  {"falcon_h1", "mamba_norm_before_gate"},
                                                                  {"granitemoehybrid", "rope_theta"},
                                                                  {"jamba", "attn_layer_period"},
                                                                  {"jamba", "expert_layer_period"},
                                                                  {"nemotron_h", "moe_intermediate_size"},
                                                                  {"nemotron_h", "moe_shared_expert_intermediate_size"},
                                                                  {"nemotron_h", "n_group"},
                                                                  {"nemotron_h", "n_routed_experts"},
                                                                  {"nemotron_h", "n_shared_experts"},
                                                                  {"nemotron_h", "norm_topk_prob"},
                                                                  {"nemotron_h", "num_experts_per_tok"},
                                                                  {"nemotron_h", "routed_scaling_factor"},
                                                                  {"nemotron_h", "topk_group"},
                                                                  {"qwen3_5_moe", "intermediate_size"},
                                                                  {"qwen3_5_moe", "partial_rotary_factor"},
                                                                  {"qwen3_next", "intermediate_size"},
                                                                  {"minimax_m2", "rotary_dim"},
                                                                  {"gemma4", "use_double_wide_mlp"},
                                                                  {"llama4", "attention_chunk_size"},
                                                                  {"llama4", "attn_scale"},
                                                                  {"llama4", "attn_temperature_tuning"},
                                                                  {"llama4", "floor_scale"},
                                                                  {"llama4", "interleave_moe_layer_step"},
                                                                  {"llama4", "intermediate_size_mlp"},
                                                                  {"llama4", "no_rope_layer_interval"},
                                                                  {"deepseek_v2", "head_dim"},
                                                                  {"deepseek_v2", "n_group"},
                                                                  {"deepseek_v2", "num_key_value_heads"},
                                                                  {"deepseek_v2", "qk_head_dim"},
                                                                  {"deepseek_v2", "topk_group"},
                                                                  {"deepseek_v3", "head_dim"},
                                                                  {"deepseek_v3", "num_key_value_heads"},
                                                                  {"deepseek_v3", "qk_head_dim"},
                                                                  // PyTorch's own code does not look at them.
                                                                  {"mpt", "embedding_fraction"},
                                                                  {"mpt", "learned_pos_emb"},
                                                                  {"mpt", "no_bias"},
                                                                  {"mpt", "norm_type"},
                                                                  {"helium", "mlp_bias"},
                                                                  // Other settings come before, or how others compute.
                                                                  {"xlstm", "num_hidden_layers"},
                                                                  {"xlstm", "max_inference_chunksize"},
                                                                  {"xlstm", "chunkwise_kernel"},
                                                                  {"xlstm", "inference_state_dtype"},
                                                                  {"xlstm", "mode"},
                                                                  {"xlstm", "norm_reduction_force_float32"},
                                                                  {"xlstm", "return_last_states"},
                                                                  {"xlstm", "sequence_kernel"},
                                                                  {"xlstm", "step_kernel"},
                                                                  // Too small to be seen.
                                                                  {"ernie4_5_moe", "moe_norm_min"},
                                                                  {"helium", "rms_norm_eps"}};

// Every setting of every family changes the answer, is refused, or has no effect by its name.
TEST(HonestModels, NoSettingIsPassedOver) {
  for (const fs::path& folder : text_model_folders()) {
    const Checkpoint reference = Checkpoint::open(folder / "reference.safetensors");
    const auto before = logits_of(folder, reference);
    if (!std::holds_alternative<Tensor>(before)) continue;
    std::ifstream in(folder / "config.json");
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    const Json config = Json::load(folder / "config.json");
    for (const auto& [name, value] : config.as_object()) {
      const std::string other = changed(value);
      if (other.empty() || is_without_effect(name) || kNotSeen.count(name)) continue;
      if (kNotSeenOf.count({folder.filename(), name})) continue;
      // The setting's own text, up to the comma or the brace behind it.
      const size_t at = text.find(cat("\"", name, "\": "));
      ASSERT_NE(at, std::string::npos);
      const size_t end = text.find_first_of(",}\n", at);
      const TempFolder temp;
      copy_model(folder, temp.path(), text.substr(at, end - at), cat("\"", name, "\": ", other));
      const auto after = logits_of(temp.path(), reference);
      if (!std::holds_alternative<Tensor>(after)) continue;
      const Tensor &a = std::get<Tensor>(after), &b = std::get<Tensor>(before);
      const bool differs = a.shape() != b.shape() || a.to_vector<float>() != b.to_vector<float>();
      EXPECT_TRUE(differs) << folder << ": " << name << " = " << other << " is ignored";
    }
  }
}

// Numbers that no model has are refused before anything is made of that size.
TEST(HonestModels, HugeNumbersAreRefused) {
  for (const char* name :
       {"bloom",   "mpt",    "deepseek_v3", "glm4_moe",         "gpt_neo",         "ernie4_5_moe", "opt",
        "phimoe",  "bamba",  "falcon_h1",   "granitemoehybrid", "jamba",           "nemotron_h",   "qwen3_next",
        "gemma3n", "gemma4", "llama4",      "diffllama",        "recurrent_gemma", "xlstm"}) {
    const auto folders = fixture_folders(name);
    if (folders.empty()) continue;
    std::ifstream in(folders.front() / "config.json");
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    const Json config = Json::load(folders.front() / "config.json");
    for (const auto& [key, value] : config.as_object()) {
      if (!value.is_int() || is_without_effect(key) || kNotSeen.count(key) || kNotSeenOf.count({name, key})) continue;
      const size_t at = text.find(cat("\"", key, "\": "));
      const size_t end = text.find_first_of(",}\n", at);
      const TempFolder temp;
      copy_model(folders.front(), temp.path(), text.substr(at, end - at), cat("\"", key, "\": 4611686018427387903"));
      const auto outcome = logits_of(temp.path(), Checkpoint::open(folders.front() / "reference.safetensors"));
      const bool is_refused = std::holds_alternative<std::string>(outcome);
      EXPECT_TRUE(is_refused || key == "num_key_value_heads" || key == "window_size") << name << ": " << key;
    }
  }
}

TEST(HonestModels, AnUnknownTypeIsTold) {
  const TempFolder temp;
  copy_model(family_folder("qwen3"), temp.path(), "\"model_type\": \"qwen3\"", "\"model_type\": \"mystery-lm\"");
  std::vector<std::string> told;
  ModelOptions options;
  options.notice = [&](const std::string& sentence) { told.push_back(sentence); };
  load_model(WeightSource(Checkpoint::open(temp.path())), options);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].find("'mystery-lm' is not known"), std::string::npos) << told[0];
  load_model(WeightSource(Checkpoint::open(family_folder("qwen3"))), options);
  EXPECT_EQ(told.size(), 1u);
}

}  // namespace
}  // namespace wick
