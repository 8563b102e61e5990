// Runs `wick lens` as a user does and compares its numbers with the library's.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cli/process.h"
#include "formats/safetensors/safetensors_writer.h"
#include "interp/attribution.h"
#include "interp/probes/logit_lens.h"
#include "interp/run_with_cache.h"
#include "interp/text_measures.h"
#include "support/comes_true.h"
#include "support/microscope_runs.h"
#include "support/needs_ember.h"
#include "support/places.h"
#include "support/pseudo_terminal.h"
#include "support/temp_folder.h"
#include "support/tiny_text_models.h"
#include "support/well_formed.h"
#include "tensor/create.h"

namespace wick {
namespace {

ProcessResult lens(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "lens");
  return run_process(WICK_PROGRAM, arguments, {});
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

class LensCommand : public testing::Test {
 protected:
  void SetUp() override { WICK_NEEDS_EMBER(); }
  TempFolder folder_;
};

TEST_F(LensCommand, SaysWhatTheLibrarySays) {
  const LookedAt ember(TextModel::ember());
  const auto tokens = ember.chat("What is 7 plus 5?", "7 plus 5 is");
  const auto report = json_of(lens({"-p", "What is 7 plus 5?", "--prefix", "7 plus 5 is", "--json", "--follow", "1",
                                    "--positions", "0,3,-1", "--top", "4", "--norms", "--loss"}));
  ASSERT_FALSE(report.contains("failed")) << report;
  ASSERT_EQ(report.at("tokens").size(), tokens.size());
  LensOptions options;
  options.positions = {0, 3, -1};
  options.top = 4;
  options.follow = {ember.token("1")};
  const LensMap map = logit_lens(ember.interp, tokens, options);
  const auto& points = report.at("lens").at("points");
  ASSERT_EQ(points.size(), map.points.size());
  for (size_t point = 0; point < points.size(); ++point) {
    EXPECT_EQ(points[point].at("point"), map.points[point]);
    for (size_t column = 0; column < 3; ++column) {
      const auto& shown = points[point].at("cells")[column];
      const LensCell& cell = map.at(point, column);
      ASSERT_EQ(shown.at("top").size(), 4u);
      for (size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(shown.at("top")[i].at("id"), cell.top[i].token);
        EXPECT_DOUBLE_EQ(shown.at("top")[i].at("probability"), cell.top[i].probability);
      }
      EXPECT_EQ(shown.at("follow")[0].at("rank"), cell.follow[0].rank);
      EXPECT_DOUBLE_EQ(shown.at("entropy"), cell.entropy);
      EXPECT_DOUBLE_EQ(shown.at("kl"), cell.kl);
    }
  }
  const std::vector<double> losses = token_losses(ember.interp, tokens);
  EXPECT_EQ(report.at("losses").get<std::vector<double>>(), losses);
  const Tensor norms = residual_norms(ember.interp, tokens);
  EXPECT_FLOAT_EQ(report.at("norms")[8][1], norms.to_vector<float>()[8 * tokens.size() + 3]);
}

TEST_F(LensCommand, AttributesLogits) {
  const LookedAt ember(TextModel::ember());
  const auto tokens = ember.chat("Who are you?");
  for (const char* by : {"layer", "head"}) {
    const auto report = json_of(lens({"-p", "Who are you?", "--attribution", by, "--json"})).at("attribution");
    const auto& parts = report.at("parts");
    AttributionOptions options;
    options.by_head = by == std::string("head");
    const Attribution expected =
        attribute_logit(ember.interp, tokens, {report.at("token").at("id").get<int32_t>()}, options);
    ASSERT_EQ(parts.size(), expected.parts.size());
    double sum = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      EXPECT_DOUBLE_EQ(parts[i].at("value"), expected.parts[i].value);
      sum += parts[i].at("value").get<double>();
    }
    EXPECT_NEAR(sum, report.at("logit").get<double>(), 1e-2);
  }
  const auto neurons = json_of(lens({"-p", "Who are you?", "--attribution", "neuron", "--top", "3", "--json"}));
  EXPECT_EQ(neurons.at("attribution").at("parts").size(), 3u);
}

TEST_F(LensCommand, IsATableInAPipe) {
  const auto result = lens({"-p", "Who are you?", "--positions=-1", "--layers", "0,7-8"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(result.errors, "");
  EXPECT_FALSE(contains(result.output, "\033"));
  EXPECT_TRUE(contains(result.output, "out I ")) << result.output;
  const auto heads = lens({"-p", "Who are you?", "--attribution", "head"});
  EXPECT_TRUE(contains(heads.output, "head 3 ")) << heads.output;
}

TEST_F(LensCommand, IsColouredAndAsWideAsATerminal) {
  PseudoTerminal terminal(WICK_PROGRAM, {"lens", "-p", "Who are you?"}, {"TERM=xterm"}, 60);
  EXPECT_TRUE(contains(terminal.wait_for("out "), "\033[38;5;"));
  EXPECT_EQ(terminal.wait(), 0);
}

TEST_F(LensCommand, WritesAPage) {
  const std::string path = (folder_.path() / "page.html").string();
  const auto result = lens({"-p", "</td><script>alert(1)</script>", "--html", path, "--norms", "--loss",
                            "--attribution", "layer", "--top", "2"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  const std::string page = text_of_file(path);
  EXPECT_EQ(well_formed(page), "");
  EXPECT_FALSE(contains(page, "<script>alert"));
  EXPECT_TRUE(contains(page, "Length of the residual stream"));
}

// What opens pages on this machine is told which, and not waited for.
TEST_F(LensCommand, HasTheBrowserOpenThePage) {
  const std::filesystem::path opener = folder_.path() / "xdg-open", opened = folder_.path() / "opened";
  std::ofstream(opener) << "#!/bin/sh\necho \"$1\" > " << opened.string() << "\nsleep 30\n";
  std::filesystem::permissions(opener, std::filesystem::perms::owner_all);
  const std::string path = (folder_.path() / "a page.html").string();
  const std::vector<std::string> words = {"lens", "-p", "Hi", "--html", path, "--open"};
  const auto result = run_process(WICK_PROGRAM, words, {cat("PATH=", folder_.path().string(), ":/usr/bin:/bin")});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_TRUE(comes_true([&] { return std::filesystem::exists(opened) && text_of_file(opened) == path + "\n"; }));
  std::filesystem::remove(opener);
  const auto none = run_process(WICK_PROGRAM, words, {cat("PATH=", folder_.path().string())});
  EXPECT_EQ(none.exit_code, 0);
  EXPECT_TRUE(contains(none.errors, "nothing here opens pages")) << none.errors;
  EXPECT_EQ(lens({"-p", "Hi", "--open"}).exit_code, 2);
}

TEST_F(LensCommand, RefusesInOneSentence) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{}, "wick: there is no prompt: give one with -p\n"},
      {{"-p", "x", "--layers", "9"}, "wick: --layers: '9' is out of range: there are 0 to 8\n"},
      {{"-p", "x", "--positions", "a"}, "wick: --positions: 'a' is no list of numbers as 0-3,5,-1\n"},
      {{"-p", "x", "--positions", "3-1"}, "wick: --positions: '3-1' ends before it begins\n"},
      {{"-p", "x", "--point", "resid_pst"}, "wick: --point: there is no point 'resid_pst'; did you mean resid_post?\n"},
      {{"-p", "x", "--tuned", "/no/such"}, "wick: /no/such: "},
  };
  for (const auto& [arguments, message] : cases) {
    const auto result = lens(arguments);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_EQ(result.errors.substr(0, message.size()), message);
    EXPECT_EQ(result.output, "");
  }
  const auto several = lens({"-p", "x", "--follow", "incomprehensible"});
  EXPECT_TRUE(contains(several.errors, "--follow is one token, but 'incomprehensible' is ")) << several.errors;
  EXPECT_EQ(lens({"-p", "x", "--show", "colour"}).exit_code, 2);
}

// A lens file whose maps add nothing but `bias` to what enters layer 1.
std::string write_tuned_lens(const TempFolder& folder, const LanguageInterp& model, const Tensor& bias) {
  const int64_t hidden = model.facts().hidden;
  std::vector<TensorSpec> specs;
  for (int i = 0; i < model.facts().layers; ++i) {
    specs.push_back({cat("layer_translators.", i, ".weight"), DType::kF32, {hidden, hidden}});
    specs.push_back({cat("layer_translators.", i, ".bias"), DType::kF32, {hidden}});
  }
  const auto path = folder.path() / "tuned.safetensors";
  SafetensorsWriter writer(path, specs);
  for (const TensorSpec& spec : specs) {
    writer.write(spec.name, spec.name == "layer_translators.1.bias" ? bias : zeros(spec.shape));
  }
  writer.finish();
  return path.string();
}

TEST(TunedLensCommand, MovesWhatEntersALayer) {
  const TempFolder folder;
  write_tiny_text_model("qwen3", folder.path() / "model");
  LoadOptions load;
  load.quantize = "auto";
  const LookedAt model(TextModel::load(folder.path() / "model", load));
  const auto look = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {(folder.path() / "model").string(), "-p", "a1 a5 a9 a77", "--json"});
    return json_of(lens(more));
  };
  const int64_t hidden = model.interp.facts().hidden;
  const auto plain = look({});
  ASSERT_FALSE(plain.contains("failed")) << plain;
  EXPECT_EQ(look({"--tuned", write_tuned_lens(folder, model.interp, zeros({hidden}))}), plain);

  const Tensor bias = randn({hidden}, 5);
  const auto moved = look({"--tuned", write_tuned_lens(folder, model.interp, bias)});
  ASSERT_FALSE(moved.contains("failed")) << moved;
  const auto &before = plain.at("lens").at("points"), &after = moved.at("lens").at("points");
  ASSERT_EQ(after.size(), 3u);
  EXPECT_EQ(after[0], before[0]);
  EXPECT_EQ(after[2], before[2]);
  // By hand: the rows that enter layer 1, moved, through the end of the model.
  CaptureOptions capture;
  capture.points = {"blocks.1.hook_resid_pre"};
  const Tensor rows =
      run_with_cache(model.interp, std::vector<int32_t>{1, 5, 9, 77}, capture).cache.at(capture.points[0]);
  std::vector<float> values = rows.to_vector<float>();
  const std::vector<float> shift = bias.to_vector<float>();
  for (size_t i = 0; i < values.size(); ++i) values[i] += shift[i % shift.size()];
  const Tensor logits = model.interp.project_to_vocab(from_vector(values, rows.shape()));
  const std::vector<double> all = logits.to_vector<double>();
  const auto width = static_cast<size_t>(logits.dim(1));
  for (size_t row = 0; row < 4; ++row) {
    const auto begin = all.begin() + static_cast<int64_t>(row * width), end = begin + logits.dim(1);
    const auto best = std::max_element(begin, end);
    double sum = 0;
    for (auto x = begin; x != end; ++x) sum += std::exp(*x - *best);
    const auto& top = after[1].at("cells")[row].at("top")[0];
    EXPECT_EQ(top.at("id"), best - begin) << row;
    EXPECT_NEAR(top.at("probability").get<double>(), 1 / sum, 1e-5) << row;
    EXPECT_NE(top, before[1].at("cells")[row].at("top")[0]) << row;
  }
}

TEST(TunedLensCommand, RefusesAFileOfAnotherModel) {
  const TempFolder folder;
  write_tiny_text_model("qwen3", folder.path() / "model");
  SafetensorsWriter writer(folder.path() / "lens", {{"0.weight", DType::kF32, {3, 3}}, {"0.bias", DType::kF32, {3}}});
  writer.write("0.weight", zeros({3, 3}));
  writer.write("0.bias", zeros({3}));
  writer.finish();
  const std::string path = (folder.path() / "lens").string();
  const auto result = lens({(folder.path() / "model").string(), "-p", "a1", "--tuned", path});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.errors, cat("wick: ", path, ": '0.weight' is [3, 3], expected [64, 64]\n"));
}

// The recurrences have points of their own, and a stream that can be measured as any other.
TEST(LensOnFixtures, RecurrentModels) {
  for (const char* family : {"mamba", "mamba2", "rwkv"}) {
    const TempFolder folder;
    write_tiny_text_model(family, folder.path());
    LoadOptions load;
    load.quantize = "auto";
    const LookedAt model(TextModel::load(folder.path(), load));
    const std::vector<int32_t> tokens = {1, 5, 9, 77};
    const auto report =
        json_of(lens({folder.path().string(), "-p", "a1 a5 a9 a77", "--point", "attn_out", "--norms", "--json"}));
    ASSERT_FALSE(report.contains("failed")) << family << report;
    LensOptions options;
    options.points = {"blocks.*.hook_attn_out"};
    const LensMap map = logit_lens(model.interp, tokens, options);
    const auto& points = report.at("lens").at("points");
    ASSERT_EQ(points.size(), map.points.size());
    for (size_t i = 0; i < points.size(); ++i) {
      EXPECT_EQ(points[i].at("cells")[2].at("top")[0].at("id"), map.at(i, 2).top[0].token) << family;
      EXPECT_DOUBLE_EQ(points[i].at("cells")[2].at("entropy"), map.at(i, 2).entropy) << family;
    }
    const std::vector<float> norms = residual_norms(model.interp, tokens).to_vector<float>();
    for (size_t i = 0; i < norms.size(); ++i) EXPECT_FLOAT_EQ(report.at("norms")[i / 4][i % 4], norms[i]) << family;
    EXPECT_EQ(lens({folder.path().string(), "-p", "a1", "--point", "attn_z"}).errors,
              cat("wick: this ", family, " has no 'blocks.0.attn.hook_z'\n"));
    EXPECT_TRUE(contains(lens({folder.path().string(), "-p", "a1", "--point", "mixer_state"}).errors,
                         "wick: 'blocks.0.mixer.hook_state' gives ["))
        << family;
  }
}

// Mamba has no attention, gpt2 its own layout; neither has a chat template.
TEST(LensOnFixtures, EveryFamily) {
  for (const char* family : {"gpt2", "mamba", "qwen2_moe"}) {
    const TempFolder folder;
    write_tiny_text_model(family, folder.path());
    LoadOptions load;
    load.quantize = "auto";
    const LookedAt model(TextModel::load(folder.path(), load));
    const auto report = json_of(lens({folder.path().string(), "-p", "a1 a5 a9 a77", "--json"}));
    ASSERT_FALSE(report.contains("failed")) << report;
    const std::vector<int32_t> tokens = {1, 5, 9, 77};
    const LensMap map = logit_lens(model.interp, tokens);
    const auto& last = report.at("lens").at("points").back().at("cells").back();
    const LensCell& cell = map.at(map.points.size() - 1, 3);
    EXPECT_EQ(last.at("top")[0].at("id"), cell.top[0].token) << family;
    EXPECT_DOUBLE_EQ(last.at("entropy"), cell.entropy) << family;
  }
}

}  // namespace
}  // namespace wick
