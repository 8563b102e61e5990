// Recurrent mixers beside attention: settings, and GGUF.
#include <gtest/gtest.h>

#include "ops/rearrange.h"
#include "ops/view.h"
#include "support/compare.h"
#include "support/errors.h"
#include "support/hybrid_models.h"

namespace wick {
namespace {

const std::vector<int32_t> kText = some_tokens(21, 5);

std::string with(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  if (at == std::string::npos) throw std::out_of_range(std::string(from));
  return text.replace(at, from.size(), to);
}

std::string config_of(std::string_view name) {
  for (const HybridModel& model : kHybridModels) {
    if (name == model.name) return model.config;
  }
  throw std::out_of_range(std::string(name));
}

Tensor logits_at(const std::filesystem::path& path) {
  const TestModel model(path);
  return TestSequence(model).run(model, kText);
}

// Rows [begin, end) of a matrix; or all of it.
struct Scaled {
  std::string_view ending;
  float factor;
  int64_t begin = 0, end = -1;
};

// Every multiplier of Falcon H1 does what weights that are so many times as large would do.
TEST(Hybrids, MultipliersAreThoseOfWeights) {
  constexpr int64_t kInner = 48, kShared = 15, kHeads = 6;
  const Scaled scaled[] = {
      {"mamba.in_proj.weight", 0.7f},
      {"mamba.in_proj.weight", 0.5f, 0, kInner},
      {"mamba.in_proj.weight", 1.5f, kInner, 2 * kInner},
      {"mamba.in_proj.weight", 0.8f, 2 * kInner, 2 * kInner + kShared},
      {"mamba.in_proj.weight", 1.2f, 2 * kInner + kShared, 2 * kInner + 2 * kShared},
      {"mamba.in_proj.weight", 0.9f, 2 * kInner + 2 * kShared, 2 * kInner + 2 * kShared + kHeads},
      {"mamba.out_proj.weight", 1.3f},
      {"q_proj.weight", 1.4f},
      {"k_proj.weight", 1.4f * 0.5f},
      {"v_proj.weight", 1.4f},
      {"o_proj.weight", 0.6f},
      {"feed_forward.gate_proj.weight", 0.8f},
      {"feed_forward.down_proj.weight", 1.1f},
      {"embed_tokens.weight", 2},
      {"lm_head.weight", 0.5f},
  };
  const std::string config = config_of("side-by-side");
  const TempFolder temp;
  write_random_checkpoint(temp.path() / "a", config);
  const Checkpoint plain = Checkpoint::open(temp.path() / "a");
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const TensorEntry& entry : plain.entries()) {
    const Tensor tensor = plain.get(entry).clone();
    const int64_t columns = tensor.rank() == 2 ? tensor.dim(1) : 1;
    for (const Scaled& change : scaled) {
      if (!entry.name.ends_with(change.ending)) continue;
      const int64_t end = change.end < 0 ? tensor.dim(0) : change.end;
      for (int64_t i = change.begin * columns; i < end * columns; ++i) tensor.mutable_data<float>()[i] *= change.factor;
    }
    tensors.emplace_back(entry.name, tensor);
  }
  const size_t begin = config.find("\"ssm_multipliers\""), end = config.find("\"vocab_size\"");
  write_checkpoint(temp.path() / "b", config.substr(0, begin) + config.substr(end), tensors);
  EXPECT_LE(relative_error(logits_at(temp.path() / "a"), logits_at(temp.path() / "b")), 1e-5);
}

TEST(Hybrids, OfGraniteFromGgufGiveTheSameLogits) {
  const std::string mixed = config_of("mamba2-moe");
  const std::string dense = with(mixed, "\"num_local_experts\": 5", "\"num_local_experts\": 0");
  const std::string rotated = with(dense, "\"vocab_size\"", "\"position_embedding_type\": \"rope\", \"vocab_size\"");
  std::vector<Tensor> logits;
  for (const std::string& config : {mixed, dense, rotated}) {
    const TempFolder temp;
    write_random_checkpoint(temp.path(), config);
    write_gguf(temp.path(), temp.path() / "model.gguf");
    logits.push_back(logits_at(temp.path()));
    EXPECT_LE(relative_error(logits_at(temp.path() / "model.gguf"), logits.back()), 1e-4) << config;
  }
  EXPECT_GT(relative_error(logits[2], logits[1]), 1e-3);
  const TempFolder temp;
  write_random_checkpoint(
      temp.path(), with(mixed, "\"mamba\", \"attention\", \"mamba\"", "\"attention\", \"attention\", \"attention\""));
  EXPECT_ERROR(write_gguf(temp.path(), temp.path() / "model.gguf"), kUnsupported, "of which some are Mamba's");
}

// Both ways: settings, names, and what of Falcon H1's multipliers goes into the weights.
TEST(Hybrids, FromGgufGiveTheSameLogits) {
  const std::string after =
      with(config_of("side-by-side"), "\"mamba_norm_before_gate\": true", "\"mamba_norm_before_gate\": false");
  const std::string blocks = config_of("one-part-each");
  const std::string delta = with(config_of("delta-rule"), "\"decoder_sparse_step\": 2", "\"decoder_sparse_step\": 1");
  for (const std::string& config :
       {after, config_of("mamba-moe"), with(blocks, "M-*EM", "M-*M-"), with(blocks, "M-*EM", "ME*EM"), delta}) {
    SCOPED_TRACE(config);
    const TempFolder temp;
    write_random_checkpoint(temp.path(), config);
    write_gguf(temp.path(), temp.path() / "model.gguf");
    EXPECT_LE(relative_error(logits_at(temp.path() / "model.gguf"), logits_at(temp.path())), 1e-4);
  }
  const std::pair<std::string, const char*> refused[] = {
      {config_of("side-by-side"), "mamba_norm_before_gate"},
      {with(after, "\"vocab_size\"", "\"time_step_limit\": [0.1, 0.5], \"vocab_size\""), "time_step_limit"},
      {blocks, "no place for MLPs and experts"},
      {with(with(blocks, "M-*EM", "M-*M-"), "\"vocab_size\"", "\"time_step_min\": 0.01, \"vocab_size\""),
       "time_step_min"},
      {config_of("delta-rule"), "experts on every layer"},
  };
  for (const auto& [config, message] : refused) {
    const TempFolder temp;
    write_random_checkpoint(temp.path(), config);
    EXPECT_ERROR(write_gguf(temp.path(), temp.path() / "model.gguf"), kUnsupported, message);
  }
}

// Newer files have the first projections of the delta rule apart, each for all key heads.
TEST(Hybrids, TheDeltaRuleOfNewerGgufFiles) {
  const std::string config =
      with(config_of("delta-rule"), "\"vocab_size\"", "\"linear_split_projections\": true, \"vocab_size\"");
  constexpr int64_t kKeyHeads = 2, kShared = 3, kKeyDim = 7, kValueDim = 9, kHidden = 32;
  const TempFolder temp;
  write_random_checkpoint(temp.path() / "fused", config_of("delta-rule"));
  const Checkpoint fused = Checkpoint::open(temp.path() / "fused");
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const TensorEntry& entry : fused.entries()) {
    const size_t at = entry.name.find("in_proj_qkvz.weight");
    if (at == std::string::npos) {
      tensors.emplace_back(entry.name, fused.get(entry));
      continue;
    }
    const int64_t parts[] = {kKeyDim, kKeyDim, kShared * kValueDim, kShared * kValueDim};
    const Tensor by_head = reshape(fused.get(entry), {kKeyHeads, 2 * kKeyDim + 2 * kShared * kValueDim, kHidden});
    std::vector<Tensor> all;
    int64_t begin = 0;
    for (const int64_t rows : parts) {
      all.push_back(reshape(narrow(by_head, 1, begin, rows).contiguous(), {kKeyHeads * rows, kHidden}));
      begin += rows;
    }
    tensors.emplace_back(entry.name.substr(0, at) + "in_proj_qkv.weight", concat({all[0], all[1], all[2]}, 0));
    tensors.emplace_back(entry.name.substr(0, at) + "in_proj_z.weight", all[3]);
  }
  write_checkpoint(temp.path() / "split", config, tensors);
  expect_identical(logits_at(temp.path() / "split"), logits_at(temp.path() / "fused"), "split");
}

// As Qwen publishes 3.5: beside an encoder, with the experts of a layer in two tensors.
TEST(Hybrids, ExpertsInAStackBesideAnEncoder) {
  const std::string text = R"({"model_type": "qwen3_5_moe_text", "hidden_size": 32, "num_hidden_layers": 2,
      "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "moe_intermediate_size": 24,
      "shared_expert_intermediate_size": 20, "num_experts": 5, "num_experts_per_tok": 2, "full_attention_interval": 2,
      "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 8, "linear_value_head_dim": 9,
      "max_position_embeddings": 256, "vocab_size": 192})";
  const TempFolder temp;
  write_random_checkpoint(temp.path() / "a", text);
  const Checkpoint plain = Checkpoint::open(temp.path() / "a");
  std::vector<std::pair<std::string, Tensor>> tensors;
  const auto renamed = [](const std::string& name) {
    return name.starts_with("model.") ? cat("model.language_model.", name.substr(6)) : name;
  };
  for (const TensorEntry& entry : plain.entries()) {
    const size_t experts = entry.name.find("experts.0.gate_proj.weight");
    if (experts != std::string::npos) {
      const std::string stem = entry.name.substr(0, experts) + "experts.";
      std::vector<Tensor> ups, downs;
      for (int i = 0; i < 5; ++i) {
        const auto part = [&](const char* name) { return plain.get(cat(stem, i, ".", name, ".weight")); };
        ups.push_back(concat(std::vector<Tensor>{part("gate_proj"), part("up_proj")}, 0));
        downs.push_back(part("down_proj"));
      }
      tensors.emplace_back(renamed(stem + "gate_up_proj"), stack(ups, 0));
      tensors.emplace_back(renamed(stem + "down_proj"), stack(downs, 0));
    } else if (entry.name.find(".experts.") == std::string::npos) {
      tensors.emplace_back(renamed(entry.name), plain.get(entry));
    }
  }
  tensors.emplace_back("model.visual.patch_embed.proj.weight", zeros({4, 4}));
  write_checkpoint(temp.path() / "b", cat(R"({"model_type": "qwen3_5_moe", "text_config": )", text, "}"), tensors);
  expect_identical(logits_at(temp.path() / "b"), logits_at(temp.path() / "a"), "stacked");
}

TEST(Hybrids, SettingsThatDoNotFitAreNamed) {
  struct Case {
    const char *name, *from, *to;
    ErrorCode code;
    const char* message;
  };
  const Case cases[] = {
      {"mamba2-moe", "\"attention\",", "\"hyena\",", ErrorCode::kUnsupported, "a layer of kind 'hyena'"},
      {"mamba2-moe", "\"attention\",", "", ErrorCode::kBadFile, "layer_types names 2 layers"},
      {"mamba2-moe", "\"mamba_n_heads\": 8", "\"mamba_n_heads\": 7", ErrorCode::kBadFile, "mamba_n_heads 7 of"},
      {"mamba2-moe", "\"vocab_size\"", "\"position_embedding_type\": \"alibi\", \"vocab_size\"",
       ErrorCode::kUnsupported, "position_embedding_type is 'alibi'"},
      {"delta-rule", "\"linear_num_value_heads\": 6", "\"linear_num_value_heads\": 7", ErrorCode::kBadFile,
       "linear_num_value_heads 7 is not a multiple"},
      {"delta-rule", "\"linear_key_head_dim\": 7", "\"linear_key_head_dim\": 0", ErrorCode::kBadFile,
       "linear_key_head_dim is 0"},
      {"mamba-moe", "\"attn_layer_offset\": 2", "\"attn_layer_offset\": 3", ErrorCode::kBadFile,
       "attn_layer_offset is 3"},
      {"side-by-side", "1.2, 0.9]", "1.2]", ErrorCode::kBadFile, "has 4 numbers, expected 5"},
      {"one-part-each", "M-*EM", "M-*XM", ErrorCode::kUnsupported, "a layer of kind 'X'"},
      {"one-part-each", "\"head_dim\"", "\"num_hidden_layers\": 6, \"head_dim\"", ErrorCode::kBadFile,
       "names 5 layers, num_hidden_layers is 6"},
      {"one-part-each", "\"head_dim\"", "\"moe_latent_size\": 6, \"head_dim\"", ErrorCode::kUnsupported,
       "moe_latent_size"},
      {"one-part-each", "\"head_dim\"", "\"sliding_window\": 6, \"head_dim\"", ErrorCode::kUnsupported,
       "sliding_window"},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.to);
    const TempFolder temp;
    const auto folder = model_folder(test.name);
    copy_model(folder, temp.path(), test.from, test.to);
    try {
      const TestModel model(temp.path());
      ADD_FAILURE() << "loaded";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), test.code) << error.what();
      EXPECT_NE(std::string(error.what()).find(test.message), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace wick
