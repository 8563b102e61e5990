// What the commands say about models that do not fit: `wick inspect` shows it, loading refuses.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/process.h"
#include "models/encoder_decoder/encoder_decoder_config.h"
#include "models/encoders/encoder_config.h"
#include "models/registry.h"
#include "models/vision/load_vision.h"
#include "models/vision/picture_model.h"
#include "support/fixtures.h"
#include "support/needs_ember.h"
#include "support/places.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

ProcessResult wick(const std::vector<std::string>& arguments) { return run_process(WICK_PROGRAM, arguments, {}); }

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// A copy of the Qwen 3 fixture whose files a test can change.
class Loading : public testing::Test {
 protected:
  Loading() : model_(folder_.path() / "model") {
    fs::copy(fixture_folders("qwen3").front(), model_);
    for (const auto& file : fs::directory_iterator(model_)) fs::permissions(file, fs::perms::owner_all);
  }
  // Replaces the first `from` in a file by `to`.
  void change(const std::string& file, const std::string& from, const std::string& to) {
    std::ifstream in(model_ / file, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    const size_t at = bytes.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    bytes.replace(at, from.size(), to);
    std::ofstream(model_ / file, std::ios::binary) << bytes;
  }
  nlohmann::json loading() {
    const auto result = wick({"inspect", model_.string(), "--json"});
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    return nlohmann::json::parse(result.output).at("loading");
  }

  TempFolder folder_;
  fs::path model_;
};

TEST_F(Loading, AModelThatFits) {
  const auto text = wick({"inspect", model_.string()});
  EXPECT_TRUE(contains(text.output, "all 24 that it needs are there")) << text.output;
  const auto json = loading();
  EXPECT_EQ(json.at("ok"), true);
  EXPECT_EQ(json.at("family"), "qwen3");
  EXPECT_EQ(json.at("inferred"), false);
  EXPECT_EQ(json.at("wanted"), 24);
}

TEST_F(Loading, ARenamedTensorIsNamedWithItsNearest) {
  const std::string right = "model.layers.1.self_attn.q_proj.weight", wrong = "model.layers.1.self_attn.q_porj.weight";
  change("model.safetensors", right, wrong);
  const auto text = wick({"inspect", model_.string()});
  EXPECT_EQ(text.exit_code, 0) << text.errors;
  EXPECT_TRUE(contains(text.output, cat(right, " [128, 64]; did you mean '", wrong, "'?"))) << text.output;
  EXPECT_TRUE(contains(text.output, "23 of the 24 that it needs are there")) << text.output;
  const auto json = loading();
  EXPECT_EQ(json.at("ok"), false);
  EXPECT_EQ(json.at("missing").at(0).at("name"), right);
  EXPECT_EQ(json.at("missing").at(0).at("nearest"), wrong);
  EXPECT_EQ(json.at("missing").at(0).at("shape"), (std::vector<int>{128, 64}));
  EXPECT_EQ(json.at("unused"), std::vector<std::string>{wrong});

  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"verify", model_.string()}, {"bench", model_.string(), "-p", "1", "-n", "0"}}) {
    const auto refused = wick(words);
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_TRUE(contains(refused.errors, cat("'", right, "' [128, 64] is missing; did you mean '", wrong, "'?")))
        << refused.errors;
  }
}

TEST_F(Loading, OtherShapesAreShown) {
  change("config.json", "\"intermediate_size\": ", "\"intermediate_size\": 1");
  const auto text = wick({"inspect", model_.string()});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_TRUE(contains(text.output, "but the settings make it [1")) << text.output;
  EXPECT_EQ(loading().at("mismatched").at(0).at("name"), "model.layers.0.mlp.gate_proj.weight");
}

TEST_F(Loading, AnUnknownFamilyIsInferred) {
  change("config.json", "\"model_type\": \"qwen3\"", "\"model_type\": \"quill\"");
  EXPECT_TRUE(contains(wick({"inspect", model_.string()}).output,
                       "inferred from config.json and tensor names; the model_type 'quill' is not known"));
  const auto json = loading();
  EXPECT_EQ(json.at("inferred"), true);
  EXPECT_EQ(json.at("ok"), true);
  const auto verified = wick({"verify", model_.string()});
  EXPECT_EQ(verified.exit_code, 0) << verified.output << verified.errors;
  EXPECT_TRUE(contains(verified.output, "inferred from config.json")) << verified.output;
  for (const std::vector<std::string>& words : {std::vector<std::string>{"verify", model_.string(), "--json"},
                                                {"bench", model_.string(), "-p", "1", "-n", "0", "--json"}}) {
    const auto loaded = wick(words);
    EXPECT_TRUE(contains(loaded.errors, "wick: the model_type 'quill' is not known")) << loaded.errors;
    EXPECT_TRUE(nlohmann::json::accept(loaded.output)) << loaded.output;
  }
}

TEST_F(Loading, ModelsThatListen) {
  for (const char* name : {"qwen3_asr", "qwen3_asr-thinker", "whisper", "wav2vec2", "wav2vec2-conformer"}) {
    SCOPED_TRACE(name);
    model_ = fixture_folders(name).front();
    const auto json = loading();
    EXPECT_EQ(json.at("ok"), true) << json;
    EXPECT_GT(json.at("wanted"), 20);
  }
  model_ = folder_.path() / "whisper";
  fs::copy(fixture_folders("whisper").front(), model_);
  fs::permissions(model_ / "model.safetensors", fs::perms::owner_all);
  change("model.safetensors", "encoder_attn.q_proj.bias", "encoder_attn.q_porj.bias");
  const auto json = loading();
  EXPECT_EQ(json.at("ok"), false);
  EXPECT_TRUE(contains(json.at("missing").at(0).at("name"), "encoder_attn.q_proj.bias")) << json;
}

TEST_F(Loading, SettingsThatMakeNoSenseAreShown) {
  change("config.json", "\"num_attention_heads\": ", "\"num_attention_heads\": -");
  const auto json = loading();
  EXPECT_EQ(json.at("ok"), false);
  EXPECT_TRUE(contains(json.at("reason"), "heads")) << json;
  EXPECT_TRUE(contains(wick({"inspect", model_.string()}).output, "not possible"));
}

TEST(Models, ListsEveryFamily) {
  const auto text = wick({"models"});
  EXPECT_EQ(text.exit_code, 0);
  const auto json = nlohmann::json::parse(wick({"models", "--json"}).output).at("families");
  ASSERT_EQ(json.size(), families().size() + encoder_decoder_families().size() + encoder_families().size() +
                             seeing_families().size() + picture_families().size());
  size_t at = 0;
  const auto expect = [&](const auto& list) {
    for (const auto& family : list) {
      EXPECT_EQ(json[at++].at("model_type"), family.model_type);
      EXPECT_TRUE(contains(text.output, family.title)) << family.title;
    }
  };
  expect(families());
  expect(encoder_decoder_families());
  expect(encoder_families());
  expect(seeing_families());
  expect(picture_families());
}

TEST(PerplexityProgram, MeasuresEmber) {
  WICK_NEEDS_EMBER();
  const TempFolder folder;
  const std::string file = (folder.path() / "text.txt").string();
  std::ofstream(file) << "Once upon a time there was a little dog. The dog liked to play with a ball in the garden.\n";
  const auto text = wick({"perplexity", "ember", file, "--context", "8"});
  EXPECT_EQ(text.exit_code, 0) << text.errors;
  EXPECT_EQ(text.output.find("perplexity "), 0u) << text.output;
  EXPECT_EQ(text.errors, "") << "no progress bar in a pipe";
  const auto json = wick({"perplexity", "ember", file, "--stride", "512", "--json", "--kv", "f32"});
  ASSERT_EQ(json.exit_code, 0) << json.errors;
  const auto report = nlohmann::json::parse(json.output);
  EXPECT_EQ(report.at("scored_tokens").get<int64_t>() + 1, report.at("tokens").get<int64_t>());
  EXPECT_GT(report.at("perplexity").get<double>(), 1);
  EXPECT_GT(report.at("error").get<double>(), 0);

  const auto too_long = wick({"perplexity", "ember", file, "--context", "1000"});
  EXPECT_EQ(too_long.exit_code, 1);
  EXPECT_TRUE(contains(too_long.errors, "too few for windows of 1000 tokens")) << too_long.errors;
  EXPECT_EQ(wick({"perplexity", "ember"}).exit_code, 2);
  EXPECT_EQ(wick({"perplexity", "ember", file, "--context", "8", "--stride", "9"}).exit_code, 2);
}

}  // namespace
}  // namespace wick
