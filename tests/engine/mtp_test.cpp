// Drafts by a model's own layer for it (multi-token prediction): what they are, and that they change no answer.
#include <gtest/gtest.h>

#include <algorithm>

#include "formats/gguf/gguf_config.h"
#include "formats/gguf/gguf_export.h"
#include "formats/gguf/gguf_writer.h"
#include "ops/binary.h"
#include "ops/index.h"
#include "ops/layers/norm.h"
#include "ops/rearrange.h"
#include "ops/view.h"
#include "support/compare.h"
#include "support/engine_requests.h"
#include "support/errors.h"
#include "support/tiny_text_models.h"
#include "tensor/create.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

// A model with such a layer: `rest` of its settings with `more`, and what makes a model of that layer alone of it.
struct MtpModel {
  const char* name;
  std::string rest, more, alone;
  // Where tensors of the layer lie, and under what names the parts around it.
  const char *layer, *embed_norm, *hidden_norm, *join, *final_norm;
  bool passes_normed;
};

constexpr const char* kExperts =
    R"("hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 40, "moe_intermediate_size": 24,
       "n_routed_experts": 5, "num_experts_per_tok": 2, "n_shared_experts": 1, "n_group": 1, "topk_group": 1,
       "norm_topk_prob": true, "routed_scaling_factor": 1.5, "max_position_embeddings": 256, "vocab_size": 192)";

std::vector<MtpModel> mtp_models() {
  const std::string two = R"(, "num_hidden_layers": 2, "first_k_dense_replace": 1, "num_nextn_predict_layers": 1})";
  const std::string one = R"(, "num_hidden_layers": 1, "first_k_dense_replace": 0})";
  const auto deepseek = [&](const char* name, const std::string& own) {
    return MtpModel{name,
                    cat("{", own, ", ", kExperts),
                    two,
                    one,
                    "model.layers.2.",
                    "model.layers.2.enorm.weight",
                    "model.layers.2.hnorm.weight",
                    "model.layers.2.eh_proj.weight",
                    "model.layers.2.shared_head.norm.weight",
                    false};
  };
  const auto qwen = [&](const char* name, const std::string& own) {
    return MtpModel{name,
                    cat("{", own, R"(, "hidden_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2,
                        "head_dim": 16, "intermediate_size": 40, "linear_num_key_heads": 2, "linear_num_value_heads": 6,
                        "linear_key_head_dim": 7, "linear_value_head_dim": 9, "linear_conv_kernel_dim": 3,
                        "max_position_embeddings": 256, "vocab_size": 192)"),
                    R"(, "num_hidden_layers": 3, "full_attention_interval": 2})",
                    R"(, "num_hidden_layers": 1, "full_attention_interval": 1})",
                    "mtp.layers.0.",
                    "mtp.pre_fc_norm_embedding.weight",
                    "mtp.pre_fc_norm_hidden.weight",
                    "mtp.fc.weight",
                    "mtp.norm.weight",
                    true};
  };
  return {
      deepseek("deepseek_v3", R"("model_type": "deepseek_v3", "q_lora_rank": 12, "kv_lora_rank": 16,
          "num_key_value_heads": 4, "qk_nope_head_dim": 8, "qk_rope_head_dim": 8, "v_head_dim": 8)"),
      deepseek("glm4_moe",
               R"("model_type": "glm4_moe", "num_key_value_heads": 2, "head_dim": 16, "use_qk_norm": true)"),
      qwen("qwen3_next", R"("model_type": "qwen3_next", "num_experts": 5, "num_experts_per_tok": 2,
          "moe_intermediate_size": 24, "shared_expert_intermediate_size": 20)"),
      qwen("qwen3_5", R"("model_type": "qwen3_5_text")"),
  };
}

void write_model(const MtpModel& model, const fs::path& folder) {
  ModelOptions options;
  options.mtp = true;
  write_random_checkpoint(folder, model.rest + model.more, options);
  write_word_tokenizer(folder);
}

// The layer alone, as a model of one layer whose embeddings are what enters it.
void write_layer_alone(const MtpModel& model, const fs::path& from, const fs::path& to) {
  const Checkpoint all = Checkpoint::open(from);
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const TensorEntry& entry : all.entries()) {
    std::string name = entry.name;
    if (name == model.final_norm) {
      name = "model.norm.weight";
    } else if (name.starts_with(model.layer)) {
      name = cat("model.layers.0.", name.substr(std::string_view(model.layer).size()));
      if (name.find("norm.weight") != std::string::npos &&
          (name.ends_with(".enorm.weight") || name.ends_with(".hnorm.weight")))
        continue;
      if (name.ends_with(".eh_proj.weight")) continue;
    } else if (name != "model.embed_tokens.weight" && name != "lm_head.weight") {
      continue;
    }
    tensors.emplace_back(name, all.get(entry));
  }
  write_checkpoint(to, model.rest + model.alone, tensors);
}

class MtpTest : public testing::TestWithParam<MtpModel> {
 protected:
  void SetUp() override { write_model(GetParam(), temp_.path() / "model"); }
  std::shared_ptr<const TextModel> load(bool mtp) const {
    LoadOptions options;
    options.mtp = mtp;
    return TextModel::load(temp_.path() / "model", options);
  }
  TempFolder temp_;
};

Tensor last_row(const Tensor& x) { return narrow(x, 0, x.dim(0) - 1, 1).contiguous(); }

int32_t best(const Tensor& logits) {
  const std::vector<float> values = logits.to_vector<float>();
  return static_cast<int32_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

// The layer sees what it was made for, however the text came: as one layer that is fed by hand.
TEST_P(MtpTest, LooksAheadAsTheLayerAlone) {
  write_layer_alone(GetParam(), temp_.path() / "model", temp_.path() / "alone");
  ModelOptions options;
  options.mtp = true;
  const TestModel model(temp_.path() / "model", options), alone(temp_.path() / "alone");
  const std::vector<int32_t> text = some_tokens(24, 3);

  TestSequence sequence(model);
  Lookahead lookahead;
  std::vector<Tensor> normed = {zeros({1, 32})};
  size_t begin = 0;
  for (const size_t count : {1, 5, 9, 8}) {
    ForwardBatch batch;
    sequence.add_to(batch, std::span(text).subspan(begin, count), false);
    lookahead.kept = static_cast<int64_t>(count);
    batch.sequences.back().lookahead = &lookahead;
    model.model->forward(batch, model.cache);
    lookahead.last = last_row(lookahead.rows);
    normed.push_back(lookahead.rows);
    begin += count;
  }
  ForwardBatch next;
  sequence.add_to(next, std::span(text).subspan(23, 1), false);
  const auto first = model.model->look_ahead(next, lookahead.last, model.cache);
  const std::vector<int32_t> guessed = {best(first.logits)};
  ForwardBatch behind;
  TestSequence further = sequence;
  further.add_to(behind, guessed, false);
  const auto second = model.model->look_ahead(behind, first.rows, model.cache);

  const Checkpoint file = Checkpoint::open(temp_.path() / "model");
  const double offset = GetParam().passes_normed ? 1 : 0;
  const auto norm = [&](const Tensor& x, const char* name) { return rms_norm(x, add(file.get(name), offset), 1e-6f); };
  std::vector<int64_t> ids(text.begin(), text.end());
  ids.push_back(guessed[0]);
  const Tensor embedded = index_select(file.get("model.embed_tokens.weight"), 0, from_vector(ids, {25}));
  normed.push_back(first.rows);
  const Tensor both =
      concat({norm(embedded, GetParam().embed_norm), norm(concat(normed, 0), GetParam().hidden_norm)}, 1);
  const InputEmbeddings given{0, Linear{file.get(GetParam().join), {}, {}, {}}(both)};
  const auto logits_alone = [&](int64_t count) {
    TestSequence one(alone);
    ForwardBatch batch;
    std::vector<int32_t> places(ids.begin(), ids.begin() + count);
    one.add_to(batch, places, false);
    const InputEmbeddings part{0, narrow(given.rows, 0, 0, count).contiguous()};
    batch.sequences.back().embeddings = {&part, 1};
    return alone.model->forward(batch, alone.cache);
  };
  expect_identical(first.logits, logits_alone(24), "the first step");
  expect_identical(second.logits, logits_alone(25), "the second step");
}

// Texts with drafts are those without, alone and together, greedy and sampled, with room and without.
TEST_P(MtpTest, ChangesNoAnswer) {
  const auto plain = load(false), drafting = load(true);
  std::vector<EngineRequest> requests;
  for (uint32_t i = 0; i < 6; ++i) {
    EngineRequest request;
    request.prompt = some_tokens(5 + 17 * (i % 3), 1 + i / 2);
    request.params.max_new_tokens = 30;
    request.params.ignore_end = true;
    request.params.sampling.temperature = i % 2 == 0 ? 0.f : 0.7f;
    request.params.sampling.seed = i;
    request.choices = i == 4 ? 2 : 1;
    requests.push_back(request);
  }
  EngineOptions options;
  options.context = 128;
  options.drafter = [](const TextModel& model) { return std::make_unique<MtpDrafter>(model.model()); };
  const int64_t block = KvCache::bytes_per_block(drafting->model().facts().kv_layers, DType::kF16);
  int64_t drafted = 0;
  for (const int64_t blocks : {200, 14}) {
    options.kv_bytes = blocks * block;
    TextEngine engine(drafting, options);
    for (int round = 0; round < 2; ++round) {
      std::vector<Heard> heard(requests.size());
      for (size_t i = 0; i < requests.size(); ++i) engine.submit(requests[i], listen(heard[i]));
      run_to_end(engine);
      for (size_t i = 0; i < requests.size(); ++i) {
        for (int64_t choice = 0; choice < requests[i].choices; ++choice) {
          EXPECT_EQ(heard[i].tokens[choice], alone(plain, requests[i], choice).tokens) << i << ", choice " << choice;
          drafted += heard[i].results[choice].drafted;
        }
      }
    }
  }
  EXPECT_GT(drafted, 100);
}

TEST_P(MtpTest, IsLoadedWhenAskedFor) {
  const auto plain = load(false), drafting = load(true);
  EXPECT_FALSE(plain->model().facts().looks_ahead);
  EXPECT_TRUE(drafting->model().facts().looks_ahead);
  EXPECT_EQ(drafting->model().facts().kv_layers.size(), plain->model().facts().kv_layers.size() + 1);
  EXPECT_ERROR(MtpDrafter(plain->model()), kUnsupported, "without a layer that predicts further tokens");
}

INSTANTIATE_TEST_SUITE_P(All, MtpTest, testing::ValuesIn(mtp_models()),
                         [](const auto& test) { return std::string(test.param.name); });

// Files of llama.cpp have the layer as one more block.
TEST(Mtp, TheLayerIsReadFromGguf) {
  for (const MtpModel& model : {mtp_models()[0], mtp_models()[1]}) {
    SCOPED_TRACE(model.name);
    const TempFolder temp;
    write_model(model, temp.path() / "model");
    copy_model(temp.path() / "model", temp.path() / "longer", model.more,
               R"(, "num_hidden_layers": 3, "first_k_dense_replace": 1})");
    const WeightSource source(Checkpoint::open(temp.path() / "longer"));
    const auto tensors = gguf_tensors(source);
    std::vector<TensorSpec> specs;
    for (const GgufTensor& tensor : tensors) specs.push_back({tensor.name, tensor.dtype, tensor.shape});
    Metadata metadata = gguf_from_config(source.config());
    metadata.set_u32(cat(metadata.text("general.architecture"), ".nextn_predict_layers"), 1);
    GgufWriter writer(temp.path() / "model.gguf", metadata, specs);
    for (const GgufTensor& tensor : tensors) writer.write(tensor.name, tensor.load());
    writer.finish();

    const std::vector<int32_t> text = some_tokens(17, 8), next = {5};
    std::vector<Tensor> plain, ahead;
    for (const fs::path& path : {temp.path() / "model", temp.path() / "model.gguf"}) {
      ModelOptions options;
      options.mtp = true;
      const TestModel loaded(path, options);
      TestSequence sequence(loaded);
      ForwardBatch batch, behind;
      Lookahead lookahead;
      sequence.add_to(batch, text, true);
      batch.sequences.back().lookahead = &lookahead;
      plain.push_back(loaded.model->forward(batch, loaded.cache));
      sequence.add_to(behind, next, false);
      ahead.push_back(loaded.model->look_ahead(behind, lookahead.rows, loaded.cache).logits);
    }
    EXPECT_LE(relative_error(plain[1], plain[0]), 1e-4);
    EXPECT_LE(relative_error(ahead[1], ahead[0]), 1e-4);
  }
}

TEST(Mtp, ModelsWithoutSuchALayerSaySo) {
  const TempFolder temp;
  write_tiny_text_model("llama", temp.path());
  LoadOptions options;
  options.mtp = true;
  EXPECT_ERROR(TextModel::load(temp.path(), options), kUnsupported, "this llama has no layer that predicts further");
}

// A layer that predicts right is believed: the model repeats one token, and so does the layer.
TEST(Mtp, RightDraftsAreAccepted) {
  const TempFolder temp;
  const MtpModel model = mtp_models()[1];
  write_model(model, temp.path() / "model");
  const Checkpoint file = Checkpoint::open(temp.path() / "model");
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const TensorEntry& entry : file.entries()) {
    // Nothing is added to the embeddings, which are all alike: each token is followed by the same one.
    const bool adds = entry.name.ends_with("o_proj.weight") || entry.name.ends_with("down_proj.weight");
    const bool same = entry.name == "model.embed_tokens.weight";
    Tensor tensor = file.get(entry);
    if (adds) tensor = zeros(entry.shape);
    if (same) tensor = full(entry.shape, 0.5);
    if (entry.name == "model.norm.weight" || entry.name.ends_with("shared_head.norm.weight"))
      tensor = full(entry.shape, 1);
    if (entry.name.ends_with("norm.weight") && entry.shape.rank() == 1) tensor = full(entry.shape, 1);
    if (entry.name.ends_with("eh_proj.weight")) {
      tensor = zeros(entry.shape);
      for (int64_t i = 0; i < 32; ++i) tensor.mutable_data<float>()[i * 64 + i] = 1;
    }
    tensors.emplace_back(entry.name, tensor);
  }
  write_checkpoint(temp.path() / "model", model.rest + model.more, tensors);
  LoadOptions load;
  load.mtp = true;
  const auto text_model = TextModel::load(temp.path() / "model", load);
  MtpDrafter drafter(text_model->model());
  Generator generator(text_model, {.context = 128});
  GenerateParams params;
  params.max_new_tokens = 41;
  params.ignore_end = true;
  params.sampling.temperature = 0;
  params.drafter = &drafter;
  const GenerateResult result = generator.generate(some_tokens(9, 2), params);
  EXPECT_EQ(result.tokens.size(), 41u);
  EXPECT_EQ(result.accepted, result.drafted);
  EXPECT_EQ(result.accepted, 30);  // three of every four tokens behind the first
}

}  // namespace
}  // namespace wick
