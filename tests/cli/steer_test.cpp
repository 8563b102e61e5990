// Runs `wick steer` and `wick probe` as a user does and compares their numbers with the library's.
#include <gtest/gtest.h>

#include "cli/process.h"
#include "engine/text/generator.h"
#include "interp/probes/linear_probe.h"
#include "interp/probes/sparse_autoencoder.h"
#include "interp/steering.h"
#include "support/microscope_runs.h"
#include "support/places.h"
#include "support/temp_folder.h"
#include "support/tiny_text_models.h"
#include "tensor/create.h"

namespace wick {
namespace {

ProcessResult wick_run(const std::vector<std::string>& arguments) { return run_process(WICK_PROGRAM, arguments, {}); }
bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

class SteerCommand : public testing::Test {
 protected:
  SteerCommand() {
    write_tiny_text_model("qwen3", folder_.path() / "model");
    LoadOptions load;
    load.quantize = "auto";
    looked_at_ = std::make_unique<LookedAt>(TextModel::load(folder_.path() / "model", load));
  }
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_.path() / name, std::ios::binary) << text;
    return path(name);
  }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  nlohmann::json run_json(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin() + 1, path("model"));
    arguments.push_back("--json");
    return json_of(wick_run(arguments));
  }
  std::string errors(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin() + 1, path("model"));
    const auto result = wick_run(arguments);
    EXPECT_NE(result.exit_code, 0);
    return result.errors;
  }
  TempFolder folder_;
  std::unique_ptr<LookedAt> looked_at_;
};

TEST_F(SteerCommand, MakesSavesAndUsesAVector) {
  const std::string up = write("up.txt", "a1 a2\r\n\na3 a4\n"), down = write("down.txt", "a9\n");
  const auto made = run_json({"steer", "--positive", up, "--negative", down, "-N", "a8 a7", "--layer", "1", "--label",
                              "up", "--save", path("v.safetensors")});
  ASSERT_FALSE(made.contains("failed")) << made;
  const std::vector<std::vector<int32_t>> positive = {{1, 2}, {3, 4}}, negative = {{8, 7}, {9}};
  const SteeringVector expected = steering_vector(looked_at_->interp, positive, negative, "blocks.1.hook_resid_post");
  const SteeringVector saved = SteeringVector::load(path("v.safetensors"));
  EXPECT_EQ(saved.vector.to_vector<float>(), expected.vector.to_vector<float>());
  EXPECT_EQ(saved.label, "up");
  EXPECT_EQ(made.at("vector").at("point"), "blocks.1.hook_resid_post");
  EXPECT_EQ(made.at("likelier").size(), 8u);

  const auto used =
      run_json({"steer", "--load", path("v.safetensors"), "--strength", "0,40,-40", "-p", "a5 a6", "-n", "6"});
  ASSERT_FALSE(used.contains("failed")) << used;
  const auto& answers = used.at("answers");
  ASSERT_EQ(answers.size(), 4u);
  EXPECT_EQ(answers[0].at("answer"), answers[1].at("answer")) << "no strength, no change";
  EXPECT_NE(answers[0].at("answer"), answers[2].at("answer"));
  EXPECT_NE(answers[2].at("answer"), answers[3].at("answer"));
}

TEST_F(SteerCommand, UsesSparseAutoencoders) {
  const int64_t hidden = looked_at_->interp.facts().hidden;
  std::filesystem::create_directory(path("sae"));
  SparseAutoencoder::Weights weights{randn({hidden, 5}, 1), zeros({5}), randn({5, hidden}, 2), zeros({hidden}), {}};
  SparseAutoencoder(SparseAutoencoder::Kind::kRelu, weights, "blocks.1.hook_resid_pre", false).save(path("sae"));
  const auto features = run_json({"steer", "--sae", path("sae"), "-p", "a5 a6 a7"});
  ASSERT_FALSE(features.contains("failed")) << features;
  EXPECT_EQ(features.at("features").size(), 3u);
  const auto steered =
      run_json({"steer", "--sae", path("sae"), "--feature", "3", "--strength", "50", "-p", "a5", "-n", "5"});
  EXPECT_NE(steered.at("answers")[0].at("answer"), steered.at("answers")[1].at("answer"));
  EXPECT_TRUE(contains(errors({"steer", "--sae", path("sae"), "--feature", "5", "-p", "a1"}),
                       "--feature 5 is out of range: there are 0 to 4"));
}

TEST_F(SteerCommand, TakesAFeatureAway) {
  const int64_t hidden = looked_at_->interp.facts().hidden;
  std::filesystem::create_directory(path("sae"));
  Tensor enc = randn({hidden, 3}, 4), dec = randn({3, hidden}, 6);
  const std::vector<float> bias = {0.5f, 0.f, -1e9f};  // the last feature is never there
  for (int64_t i = 0; i < dec.numel(); ++i) dec.mutable_data<float>()[i] *= 3;
  SparseAutoencoder::Weights weights{enc, from_vector(bias, {3}), dec, zeros({hidden}), {}};
  SparseAutoencoder(SparseAutoencoder::Kind::kRelu, weights, "blocks.1.hook_resid_pre", false).save(path("sae"));
  const auto without = [&](const char* feature) {
    return run_json({"steer", "--sae", path("sae"), "--feature", feature, "--off", "-p", "a5 a6 a7", "-n", "6"});
  };
  // By hand: what the first feature adds to each row is taken off it.
  GenerateParams params;
  params.sampling.temperature = 0;
  params.max_new_tokens = 6;
  params.hooks.call("blocks.1.hook_resid_pre", [&](const Tensor& values, const HookMoment&) {
    const std::vector<float> w = enc.to_vector<float>(), d = dec.to_vector<float>();
    std::vector<float> x = values.to_vector<float>();
    const auto width = static_cast<size_t>(hidden);
    for (size_t row = 0; row < x.size(); row += width) {
      float feature = bias[0];
      for (size_t i = 0; i < width; ++i) feature += x[row + i] * w[i * 3];
      for (size_t i = 0; i < width; ++i) x[row + i] -= std::max(feature, 0.f) * d[i];
    }
    return from_vector(x, values.shape());
  });
  const std::string expected =
      Generator(looked_at_->text, {.context = 64}).generate(std::vector<int32_t>{5, 6, 7}, params).text;
  const auto first = without("0");
  ASSERT_FALSE(first.contains("failed")) << first;
  ASSERT_EQ(first.at("answers").size(), 2u);
  EXPECT_EQ(first.at("answers")[1].at("answer"), expected);
  EXPECT_NE(first.at("answers")[0].at("answer"), expected);
  const auto never = without("2").at("answers");
  EXPECT_EQ(never[0].at("answer"), never[1].at("answer"));
  EXPECT_TRUE(contains(errors({"steer", "--off", "-P", "a1", "-N", "a2"}), "--off requires --feature"));
}

// What enters a recurrence is a point as any other.
TEST_F(SteerCommand, SteersRecurrentModels) {
  for (const char* family : {"mamba", "mamba2", "rwkv"}) {
    write_tiny_text_model(family, path(family));
    LoadOptions load;
    load.quantize = "auto";
    const LookedAt model(TextModel::load(path(family), load));
    const auto made =
        json_of(wick_run({"steer", path(family), "-P", "a1 a2", "-N", "a9", "--layer", "1", "--point", "mixer_in",
                          "--save", path("v.safetensors"), "--strength", "30", "-p", "a3 a4", "-n", "6", "--json"}));
    ASSERT_FALSE(made.contains("failed")) << family << made;
    const std::vector<std::vector<int32_t>> positive = {{1, 2}}, negative = {{9}};
    const SteeringVector expected = steering_vector(model.interp, positive, negative, "blocks.1.mixer.hook_in");
    EXPECT_EQ(SteeringVector::load(path("v.safetensors")).vector.to_vector<float>(),
              expected.vector.to_vector<float>());
    EXPECT_GT(expected.length(), 0);
    GenerateParams params;
    params.sampling.temperature = 0;
    params.max_new_tokens = 6;
    expected.apply(params.hooks, 30);
    EXPECT_EQ(made.at("answers")[1].at("answer"),
              Generator(model.text, {.context = 64}).generate(std::vector<int32_t>{3, 4}, params).text)
        << family;
  }
}

TEST_F(SteerCommand, RefusesAPointThatTheModelLacks) {
  write_tiny_text_model("phi", path("parallel"));
  const LookedAt parallel(TextModel::load(path("parallel")));
  const int64_t hidden = parallel.interp.facts().hidden;
  SteeringVector{"blocks.1.hook_resid_mid", randn({hidden}, 3), "llama", ""}.save(path("mid.safetensors"));
  const auto result = wick_run({"steer", path("parallel"), "--load", path("mid.safetensors"), "-p", "a5 a6"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.errors, "wick: this phi has no 'blocks.1.hook_resid_mid'\n");
}

TEST_F(SteerCommand, RefusesInOneSentence) {
  EXPECT_TRUE(contains(errors({"steer", "-P", "a1"}), "needs prompts of both kinds"));
  EXPECT_TRUE(contains(errors({"steer", "-P", "a1", "-N", "a2", "--layer", "7"}), "7"));
  EXPECT_TRUE(contains(errors({"steer", "-P", "a1", "-N", "a2", "--point", "mlp_outt"}), "did you mean mlp_out?"));
  EXPECT_TRUE(contains(errors({"steer", "--load", path("no-such")}), "no-such"));
  EXPECT_TRUE(contains(errors({"steer", "--positive", write("empty.txt", "\n\n"), "-N", "a2"}), "no line with text"));
  EXPECT_TRUE(contains(errors({"steer", "--load", "x", "-P", "a1"}), "--load"));
}

using ProbeCommand = SteerCommand;

TEST_F(ProbeCommand, TrainsSavesAndClassifies) {
  std::string lines, json_lines;
  for (int i = 0; i < 40; ++i) {
    const bool first = i % 2 == 0;
    const std::string text = cat("a", 20 + i, " ", first ? "a1" : "a2");
    lines += cat(text, "\t", first ? "one" : "two", "\n");
    json_lines += cat("{\"text\": \"", text, "\", \"label\": ", first ? "true" : "false", "}\n");
  }
  const std::string data = write("data.tsv", lines);
  const auto trained = run_json({"probe", "--data", data, "--save", path("probe.safetensors")});
  ASSERT_FALSE(trained.contains("failed")) << trained;
  EXPECT_EQ(trained.at("labels"), nlohmann::json({"one", "two"}));
  EXPECT_EQ(trained.at("guessing"), 0.5);
  ASSERT_EQ(trained.at("probes").size(), 2u);
  EXPECT_EQ(trained.at("probes")[0].at("test_rows"), 10);
  EXPECT_EQ(trained.at("probes")[0].at("test_accuracy"), 1.0) << "the last word is the label";

  std::vector<std::vector<int32_t>> texts;
  std::vector<int64_t> labels;
  for (int i = 0; i < 40; ++i) {
    texts.push_back({20 + i, i % 2 == 0 ? 1 : 2});
    labels.push_back(i % 2);
  }
  ProbeReport expected;
  LinearProbe::train(text_rows(looked_at_->interp, texts, "blocks.1.hook_resid_post"), labels, 2, {}, &expected);
  EXPECT_DOUBLE_EQ(trained.at("probes")[1].at("train_loss"), expected.train_loss);

  const LinearProbe saved = LinearProbe::load(path("probe.safetensors"));
  EXPECT_EQ(saved.labels, (std::vector<std::string>{"one", "two"}));
  const auto said = run_json({"probe", "--load", path("probe.safetensors"), "-p", "a150 a2"});
  EXPECT_EQ(said.at("texts")[0].at("label"), "two");
  EXPECT_EQ(run_json({"probe", "--load", path("probe.safetensors"), "--data", data}).at("accuracy"), 1.0);
  const auto from_json = run_json({"probe", "--data", write("data.jsonl", json_lines), "--layers", "1"});
  EXPECT_EQ(from_json.at("labels"), nlohmann::json({"true", "false"}));
}

// The label is the first word, so that the last token tells nothing and the mean does.
TEST_F(ProbeCommand, KnowsWhichRowItWasTrainedOn) {
  std::string lines;
  for (int i = 0; i < 40; ++i) lines += cat(i % 2 ? "a1" : "a2", " a", 20 + i, "\t", i % 2 ? "one" : "two", "\n");
  const std::string data = write("data.tsv", lines), file = path("probe.safetensors");
  const auto trained = run_json({"probe", "--data", data, "--row", "mean", "--held-out", "0", "--save", file});
  ASSERT_FALSE(trained.contains("failed")) << trained;
  EXPECT_EQ(LinearProbe::load(file).row, TextRow::kMean);
  const auto alone = run_json({"probe", "--load", file, "-p", "a1 a150"});
  EXPECT_EQ(alone.at("row"), "mean");
  EXPECT_EQ(alone, run_json({"probe", "--load", file, "-p", "a1 a150", "--row", "mean"}));
  EXPECT_EQ(errors({"probe", "--load", file, "-p", "a1 a150", "--row", "last"}),
            cat("wick: ", file, ": the probe was trained with --row mean, not last\n"));
  // A file that does not say it is read as before: the last token, unless --row says otherwise.
  LinearProbe old = LinearProbe::load(file);
  old.row.reset();
  old.save(path("old.safetensors"));
  auto asked = run_json({"probe", "--load", path("old.safetensors"), "-p", "a1 a150", "--row", "mean"});
  EXPECT_EQ(asked.at("texts"), alone.at("texts"));
  EXPECT_EQ(run_json({"probe", "--load", path("old.safetensors"), "-p", "a1 a150"}).at("row"), "last");
}

TEST_F(ProbeCommand, RefusesInOneSentence) {
  EXPECT_TRUE(
      contains(errors({"probe", "--data", write("a", "x\ty\nno label\n")}), "a: line 2 with text has no label"));
  EXPECT_TRUE(contains(errors({"probe", "--data", write("b", "x\ty\nz\ty\n")}), "all lines have the same label"));
  EXPECT_TRUE(contains(errors({"probe", "--data", write("c", "{\"label\": 1}\n")}), "text"));
  EXPECT_TRUE(contains(errors({"probe", "--data", path("none")}), "cannot be read"));
  EXPECT_TRUE(contains(errors({"probe"}), "--data"));
  EXPECT_TRUE(contains(errors({"probe", "--load", write("d", "not safetensors")}), "d"));
}

}  // namespace
}  // namespace wick
