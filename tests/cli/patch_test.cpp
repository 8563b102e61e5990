// Runs `wick patch` and `wick attn` as a user does and compares their numbers with the library's.
#include <gtest/gtest.h>

#include "cli/process.h"
#include "interp/ablation.h"
#include "interp/head_scores.h"
#include "interp/knockout.h"
#include "interp/patching.h"
#include "interp/path_patching.h"
#include "interp/run_with_cache.h"
#include "support/microscope_runs.h"
#include "support/needs_ember.h"
#include "support/places.h"
#include "support/temp_folder.h"
#include "support/tiny_text_models.h"
#include "support/well_formed.h"

namespace wick {
namespace {

ProcessResult wick_run(const std::vector<std::string>& arguments) { return run_process(WICK_PROGRAM, arguments, {}); }
bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// A tiny model of words "a0" to "a191", so that every answer is at hand.
class PatchCommand : public testing::Test {
 protected:
  PatchCommand() {
    write_tiny_text_model("qwen3", folder_.path());
    LoadOptions load;
    load.quantize = "auto";
    model_ = std::make_unique<LookedAt>(TextModel::load(folder_.path(), load));
  }
  nlohmann::json patch(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"patch", folder_.path().string(), "-p", "a1 a5 a9 a77 a3", "--json"});
    return json_of(wick_run(arguments));
  }
  const std::vector<int32_t> clean_ = {1, 5, 9, 77, 3}, corrupted_ = {1, 6, 9, 77, 3};
  const std::vector<std::string> pair_ = {"-c", "a1 a6 a9 a77 a3", "--answer", "a7", "--wrong", "a8"};
  TempFolder folder_;
  std::unique_ptr<LookedAt> model_;
};

TEST_F(PatchCommand, SweepsAsTheLibrary) {
  const Metric metric = Metric::logit_difference(7, 8);
  std::vector<std::string> arguments = pair_;
  arguments.insert(arguments.end(), {"--point", "resid_pre", "--point", "hook_mlp_out"});
  const auto report = patch(arguments);
  ASSERT_FALSE(report.contains("failed")) << report;
  const HookPoint points[] = {HookPoint::kResidPre, HookPoint::kMlpOut};
  for (size_t i = 0; i < 2; ++i) {
    const SweepMap map = patch_sweep(model_->interp, clean_, corrupted_, points[i], {}, metric);
    const auto& sweep = report.at("sweeps")[i];
    EXPECT_EQ(sweep.at("values").get<std::vector<double>>(), map.values);
    EXPECT_EQ(sweep.at("clean"), map.clean);
    EXPECT_EQ(sweep.at("corrupted"), map.corrupted);
    EXPECT_EQ(sweep.at("shown")[1], map.restored(0, 1));
  }
  EXPECT_NEAR(report.at("sweeps")[0].at("shown")[1].get<double>(), 1, 1e-6) << "the one token that differs";
}

TEST_F(PatchCommand, PatchesHeadsAndPaths) {
  const Metric metric = Metric::logit_difference(7, 8);
  std::vector<std::string> by_head = pair_;
  by_head.insert(by_head.end(), {"--by-head"});
  SweepCells cells;
  cells.by_head = true;
  cells.by_position = false;
  EXPECT_EQ(patch(by_head).at("sweeps")[0].at("values").get<std::vector<double>>(),
            patch_sweep(model_->interp, clean_, corrupted_, HookPoint::kAttnZ, cells, metric).values);

  std::vector<std::string> path = pair_;
  path.insert(path.end(), {"--path", "out"});
  const int last = model_->interp.facts().layers - 1;
  const PathNode receiver{HookPoint::kResidPost, last, {{-1}, {}}};
  EXPECT_EQ(patch(path).at("sweeps")[0].at("values").get<std::vector<double>>(),
            path_patch_heads(model_->interp, clean_, corrupted_, std::span(&receiver, 1), metric).values);
}

TEST_F(PatchCommand, AblatesAndKnocksOut) {
  const AblationValues zero(model_->interp, HookPoint::kAttnOut, Ablation::kZero);
  const Metric logit = Metric::logit(7);
  EXPECT_EQ(patch({"--answer", "#7", "--ablate", "zero", "--point", "attn_out"}).at("sweeps")[0].at("values"),
            nlohmann::json(ablation_sweep(model_->interp, clean_, zero, {}, logit).values));
  KnockoutSweep sweep;
  sweep.queries = {-1};
  const auto report = patch({"--answer", "a7", "--knockout", "--from=-1"});
  EXPECT_EQ(report.at("sweeps")[0].at("values"),
            nlohmann::json(knockout_sweep(model_->interp, clean_, sweep, logit).values));
}

TEST_F(PatchCommand, RefusesInOneSentence) {
  const std::string model = folder_.path().string();
  const auto refuse = [&](std::vector<std::string> arguments, std::string_view message) {
    arguments.insert(arguments.begin(), {"patch", model, "-p", "a1 a2 a3"});
    const auto result = wick_run(arguments);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_TRUE(contains(result.errors, message)) << result.errors;
    EXPECT_EQ(std::count(result.errors.begin(), result.errors.end(), '\n'), 1) << result.errors;
  };
  refuse({"--answer", "a7"}, "patching needs a corrupted prompt: -c TEXT");
  refuse({"-c", "a1 a9"},
         "the clean prompt has 3 tokens and the corrupted one 2, but patching puts one in the place of the other; from "
         "token 1 on, one is a2|a3 and the other a9");
  refuse({"-c", "a1 a9 a3", "--answer", "a1 a2", "--wrong", "a3"}, "--answer is one token, but 'a1 a2' is 2: a1|a2");
  refuse({"-c", "a1 a9 a3", "--answer", "#9999", "--wrong", "a3"}, "--answer: '9999' is out of range: there are 0 to ");
  refuse({"-c", "a1 a9 a3", "--answer", "a4", "--wrong", "a3", "--point", "resid_pr"}, "did you mean resid_pre?");
  refuse({"-c", "a1 a9 a3", "--answer", "a4", "--wrong", "a3", "--heads", "99"}, "--heads: '99' is out of range");
  refuse({"-c", "a1 a9 a3", "--answer", "a4", "--wrong", "a4"}, "both prompts are answered with a4");
  refuse({"--answer", "a4", "--ablate", "mean"}, "--ablate mean needs other texts");
}

TEST_F(PatchCommand, DrawsAMap) {
  std::vector<std::string> arguments = {"patch", folder_.path().string(), "-p", "a1 a5 a9 a77 a3"};
  arguments.insert(arguments.end(), pair_.begin(), pair_.end());
  const std::string path = (folder_.path() / "map.html").string();
  arguments.insert(arguments.end(), {"--html", path});
  const auto result = wick_run(arguments);
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_TRUE(contains(result.output, "Clean resid_pre put into the corrupted run: logit of a7 minus logit of a8"))
      << result.output;
  EXPECT_EQ(well_formed(text_of_file(path)), "");
}

using AttnCommand = PatchCommand;

TEST_F(AttnCommand, ShowsPatternsAsTheLibrary) {
  const std::string model = folder_.path().string();
  const auto report = json_of(
      wick_run({"attn", model, "-p", "a1 a5 a9 a77 a3", "--layer", "1", "--head", "2", "--json", "--top", "3"}));
  ASSERT_FALSE(report.contains("failed")) << report;
  CaptureOptions capture;
  capture.points = {"blocks.1.attn.hook_pattern"};
  const std::vector<float> pattern =
      run_with_cache(model_->interp, clean_, capture).cache.at("blocks.1.attn.hook_pattern").to_vector<float>();
  const auto& shown = report.at("patterns")[0].at("pattern");
  float most = 0;
  for (size_t query = 0; query < 5; ++query) {
    for (size_t key = 0; key < 5; ++key) {
      EXPECT_FLOAT_EQ(shown[query][key], pattern[(2 * 5 + query) * 5 + key]);
      most = std::max(most, pattern[(2 * 5 + query) * 5 + key]);
    }
  }
  ASSERT_EQ(report.at("edges").size(), 3u);
  EXPECT_FLOAT_EQ(report.at("edges")[0].at("weight"), most);
  // From some positions only: the same numbers as in the whole.
  const auto from = json_of(wick_run({"attn", model, "-p", "a1 a5 a9 a77 a3", "--from", "3,1", "--json"}));
  ASSERT_EQ(from.at("overview").size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    const size_t query = i == 0 ? 3 : 1;
    const auto& head = from.at("overview")[i].at("heads")[static_cast<size_t>(model_->interp.facts().heads) + 2];
    EXPECT_EQ(from.at("overview")[i].at("query"), query);
    EXPECT_EQ(head.at("layer"), 1);
    EXPECT_EQ(head.at("head"), 2);
    const auto row = pattern.begin() + static_cast<int64_t>((2 * 5 + query) * 5);
    EXPECT_FLOAT_EQ(head.at("weight"), *std::max_element(row, row + 5));
  }
  const auto part = json_of(wick_run({"attn", model, "-p", "a1 a5 a9 a77 a3", "--layer", "1", "--head", "2", "--from",
                                      "0", "--positions", "2,4", "--json"}));
  EXPECT_FLOAT_EQ(part.at("patterns")[0].at("pattern")[1][0], pattern[(2 * 5 + 4) * 5 + 2]);
  EXPECT_FLOAT_EQ(part.at("edges")[0].at("weight"), 1);
  const auto text = wick_run({"attn", model, "-p", "a1 a5 a9 a77 a3"});
  EXPECT_TRUE(contains(text.output, "Where each head looks from position 4 a3")) << text.output;
}

TEST_F(AttnCommand, ScoresHeads) {
  const std::string model = folder_.path().string();
  const auto report = json_of(wick_run({"attn", model, "-p", "a1 a5 a9 a1 a5", "--scores", "--json"}));
  const HeadScores scores = head_scores(model_->interp, std::vector<int32_t>{1, 5, 9, 1, 5});
  const std::vector<float> induction = scores.induction.to_vector<float>();
  const size_t heads = static_cast<size_t>(model_->interp.facts().heads);
  for (size_t layer = 0; layer < 2; ++layer) {
    for (size_t head = 0; head < heads; ++head) {
      EXPECT_FLOAT_EQ(report.at("scores").at("induction")[layer][head], induction[layer * heads + head]);
    }
  }
  const auto random = json_of(wick_run({"attn", model, "--random", "12", "--seed", "3", "--scores", "--json"}));
  const auto& tokens = random.at("tokens");
  ASSERT_GE(tokens.size(), 24u);
  for (size_t i = 0; i < 12; ++i) EXPECT_EQ(tokens[tokens.size() - 12 + i], tokens[tokens.size() - 24 + i]);
}

TEST_F(AttnCommand, RefusesInOneSentence) {
  const std::string model = folder_.path().string();
  EXPECT_TRUE(contains(wick_run({"attn", model, "-p", "a1", "--layer", "2"}).errors,
                       "wick: --layer: '2' is out of range: there are 0 to 1"));
  EXPECT_TRUE(contains(wick_run({"attn", model, "-p", "a1", "--layer", "0", "--head", "x"}).errors,
                       "wick: --head: 'x' is no list of numbers"));
  const TempFolder mamba;
  write_tiny_text_model("mamba", mamba.path());
  EXPECT_EQ(wick_run({"attn", mamba.path().string(), "-p", "a1"}).errors,
            "wick: mamba models have no attention heads\n");
}

}  // namespace
}  // namespace wick
