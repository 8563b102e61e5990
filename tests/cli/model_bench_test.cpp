// `wick bench`: the measuring itself, its report, and the command as a user runs it.
#include "cli/bench/model_bench.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "cli/process.h"
#include "engine/text/text_model.h"
#include "support/needs_ember.h"
#include "support/places.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(SpeedCase, IsNamedLikeInLlamaBench) {
  EXPECT_EQ((SpeedCase{512, 0, 0}.name()), "pp512");
  EXPECT_EQ((SpeedCase{0, 128, 0}.name()), "tg128");
  EXPECT_EQ((SpeedCase{512, 128, 0}.name()), "pp512+tg128");
  EXPECT_EQ((SpeedCase{0, 32, 4096}.name()), "tg32 @ d4096");
}

TEST(SpeedStats, AreThoseOfASample) {
  const SpeedStats odd = speed_stats({3, 1, 2});
  EXPECT_DOUBLE_EQ(odd.median, 2);
  EXPECT_DOUBLE_EQ(odd.mean, 2);
  EXPECT_DOUBLE_EQ(odd.deviation, 1);
  EXPECT_DOUBLE_EQ(speed_stats({1, 4}).median, 2.5);
  EXPECT_DOUBLE_EQ(speed_stats({5}).deviation, 0);
  EXPECT_DOUBLE_EQ(speed_stats({}).median, 0);
}

TEST(SpeedBench, RunsEveryKindOfCase) {
  WICK_NEEDS_EMBER();
  const auto model = TextModel::ember();
  SpeedBench bench(model->model(), DType::kF16, 64);
  for (const SpeedCase& what : {SpeedCase{8, 0, 0}, SpeedCase{0, 3, 0}, SpeedCase{8, 2, 20}, SpeedCase{0, 2, 20}}) {
    std::vector<int> calls;
    const std::vector<double> rates = bench.run(what, 2, true, [&](int i) { calls.push_back(i); });
    ASSERT_EQ(rates.size(), 2u) << what.name();
    EXPECT_GT(rates[0], 0);
    EXPECT_EQ(calls.front(), -1);
    EXPECT_EQ(std::vector<int>(calls.end() - 2, calls.end()), (std::vector<int>{0, 1}));
  }
}

TEST(SpeedReport, PrintsATable) {
  SpeedReport report;
  report.version = "0.1.0";
  report.cpu = "Some CPU";
  report.cpus = 2;
  report.model = {"m.gguf", "qwen3", "q4_k_m", 596049920, 390765568, 0.012};
  report.kv = "f16";
  report.rows = {{{512, 0, 0}, 2, {80, 90, 100}}};
  EXPECT_EQ(heading_text(report, {}),
            "wick 0.1.0 on Some CPU, 2 CPUs\n"
            "m.gguf: qwen3, 596 M parameters, 373 MiB, q4_k_m, keys and values in f16, loaded in 0.01 s\n"
            "\n"
            "test                 threads     median       mean   sd  tokens/s\n");
  EXPECT_EQ(row_text(report.rows[0], {}), "pp512                      2      90.00      90.00 ± 10.00\n");
  const auto json = to_json(report);
  EXPECT_EQ(json["rows"][0]["test"], "pp512");
  EXPECT_EQ(json["rows"][0]["median"], 90);
  EXPECT_EQ(json["rows"][0]["tokens_per_second"].size(), 3u);
  EXPECT_EQ(json["model"]["type"], "q4_k_m");
}

TEST(BenchProgram, MeasuresARandomModelAndTheFileItSaves) {
  const TempFolder folder;
  const std::string file = (folder.path() / "tiny.gguf").string();
  const std::vector<std::string> sizes = {"-p", "4", "-n", "2", "-pg", "4,2", "-d", "0,8", "-t", "1,2", "-r", "2"};
  std::vector<std::string> words = {"bench", "--random", "mixtral-tiny", "--type", "q4_0", "--save", file, "--json"};
  words.insert(words.end(), sizes.begin(), sizes.end());
  const auto made = run_process(WICK_PROGRAM, words);
  ASSERT_EQ(made.exit_code, 0) << made.errors;
  const auto report = nlohmann::json::parse(made.output);
  EXPECT_EQ(report.at("model").at("family"), "mixtral");
  EXPECT_EQ(report.at("model").at("type"), "q4_0");
  ASSERT_EQ(report.at("rows").size(), 12u);
  EXPECT_EQ(report.at("rows").at(5).at("test"), "pp4+tg2 @ d8");
  EXPECT_EQ(report.at("rows").at(6).at("threads"), 2);

  words = {"bench", file, "--kv", "f32", "--no-warmup"};
  words.insert(words.end(), sizes.begin(), sizes.end());
  const auto again = run_process(WICK_PROGRAM, words);
  EXPECT_EQ(again.exit_code, 0) << again.errors;
  for (const char* part : {"mixtral", "215 M parameters", "q4_0", "in f32", "tg2 @ d8"}) {
    EXPECT_TRUE(contains(again.output, part)) << part << " in\n" << again.output;
  }
  EXPECT_EQ(again.errors, "") << "no progress in a pipe";

  const auto refused = run_process(WICK_PROGRAM, {"bench", "--random", "mixtral-tiny", "--save", file});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_TRUE(contains(refused.errors, "--force")) << refused.errors;
}

TEST(BenchProgram, ForcesWhatDraftsAreRight) {
  const auto made = run_process(WICK_PROGRAM, {"bench", "drafts", "mixtral-tiny", "--draft", "mixtral-tiny", "-n", "9",
                                               "-b", "1,2", "-k", "3", "-a", "0,100", "-r", "1", "--json"});
  ASSERT_EQ(made.exit_code, 0) << made.errors;
  const auto rows = nlohmann::json::parse(made.output);
  ASSERT_EQ(rows.size(), 4u);
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].at("batch"), i / 2 + 1);
    EXPECT_EQ(rows[i].at("accepted"), i % 2);
    EXPECT_EQ(rows[i].at("passes"), i % 2 ? 3 : 9) << "the prompt's, then one token each, or four";
    EXPECT_GT(rows[i].at("with"), 0);
  }
  const auto refused = run_process(WICK_PROGRAM, {"bench", "drafts", "mixtral-tiny", "--draft", "smollm2-135m"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_TRUE(contains(refused.errors, "smollm2-135m has 49152 tokens")) << refused.errors;
}

}  // namespace
}  // namespace wick
