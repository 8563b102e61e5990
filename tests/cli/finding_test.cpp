// The finding of docs/interpretability.md that is made with the commands: each sentence is put together from what they
// say now, and must stand in the document.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "cli/microscope/heat_table.h"
#include "support/microscope_runs.h"
#include "support/needs_ember.h"
#include "support/places.h"

namespace wick {
namespace {

const std::vector<std::string> kAsk = {"-p", "My name is Mia. What is my name?", "--prefix", "Your name is", "--json"};

nlohmann::json wick_json(const std::string& command, const std::vector<std::string>& more,
                         const std::vector<std::string>& ask = kAsk) {
  std::vector<std::string> arguments = {command};
  arguments.insert(arguments.end(), ask.begin(), ask.end());
  arguments.insert(arguments.end(), more.begin(), more.end());
  return json_of(run_process(WICK_PROGRAM, arguments, {}));
}

// The document on one line.
std::string document() {
  std::string out;
  for (const char c : text_of_file(WICK_SOURCE_DIR "/docs/interpretability.md")) {
    if (c != '\n' && c != ' ') {
      out += c;
    } else if (!out.ends_with(' ')) {
      out += ' ';
    }
  }
  return out;
}

void expect_said(const std::string& sentence) {
  EXPECT_NE(document().find(sentence), std::string::npos) << "the document should say: " << sentence;
}

class Finding : public testing::Test {
 protected:
  void SetUp() override { WICK_NEEDS_EMBER(); }
};

TEST_F(Finding, TheNameComesInTheLastLayer) {
  const auto points = wick_json("lens", {"--follow", " Mia", "--positions=-1"}).at("lens").at("points");
  ASSERT_EQ(points.size(), 9u);
  const auto before = points[7].at("cells")[0].at("follow")[0], behind = points[8].at("cells")[0].at("follow")[0];
  expect_said(cat("before the last layer, Mia has ", percent_text(before.at("probability")), " and rank ",
                  before.at("rank").get<int64_t>() + 1, " of all tokens"));
  expect_said(cat("Behind it, ", percent_text(behind.at("probability")), "."));
}

TEST_F(Finding, TwoCellsMatter) {
  const auto report = wick_json("patch", {"-c", "My name is Ben. What is my name?", "--knockout", "--from=-1"});
  const auto& sweep = report.at("sweeps")[0];
  struct Cell {
    double change;
    int64_t layer;
    std::string token;
  };
  std::vector<Cell> cells;
  const size_t width = sweep.at("positions").size();
  for (size_t i = 0; i < sweep.at("shown").size(); ++i) {
    cells.push_back({sweep.at("shown")[i], sweep.at("layers")[i / width], report.at("tokens")[i % width].at("text")});
  }
  std::sort(cells.begin(), cells.end(), [](const Cell& a, const Cell& b) { return a.change < b.change; });
  expect_said(cat("of ", cells.size(), " cells, two matter"));
  expect_said(
      fmt::format("Without \"{}\" in layer {} the lead of Mia over Ben, {:.1f}, falls by {:.1f}; without \"{}\" "
                  "in layer {} it falls by {:.1f}.",
                  cells[1].token, cells[1].layer, sweep.at("clean").get<double>(), -cells[1].change, cells[0].token,
                  cells[0].layer, -cells[0].change));
  expect_said("No other cell changes it by more than 0.2.");
  for (size_t i = 2; i < cells.size(); ++i) EXPECT_LT(std::abs(cells[i].change), 0.2);
}

TEST_F(Finding, TwoHeadsFetch) {
  const auto sweep =
      wick_json("patch", {"-c", "My name is Ben. What is my name?", "--by-head"}).at("sweeps")[0].at("shown");
  ASSERT_EQ(sweep.size(), 32u);
  expect_said(fmt::format("7.0 restores {:.2f} of the answer and 7.1 restores {:.2f}; all others stay below 0.02.",
                          sweep[28].get<double>(), sweep[29].get<double>()));
  for (size_t i = 0; i < 32; ++i) {
    if (i == 28 || i == 29) continue;
    EXPECT_LT(std::abs(sweep[i].get<double>()), 0.02) << i;
  }
  const auto heads = wick_json("attn", {}).at("overview")[0].at("heads");
  expect_said(fmt::format("Both look at \" Mia\" with {:.2f} and {:.2f} of their attention.",
                          heads[28].at("weight").get<double>(), heads[29].at("weight").get<double>()));
  EXPECT_EQ(heads[28].at("key"), 6);
  EXPECT_EQ(heads[29].at("key"), 6);
}

TEST_F(Finding, TheyAreTheInductionHeads) {
  const auto scores = wick_json("attn", {"--random", "40", "--scores"}, {"--json"}).at("scores").at("induction");
  const double first = scores[7][0], second = scores[7][1];
  double next = 0;
  for (size_t layer = 0; layer < 8; ++layer) {
    for (size_t head = 0; head < 4; ++head) {
      if (layer != 7 || head > 1) next = std::max(next, scores[layer][head].get<double>());
    }
  }
  expect_said(fmt::format("they give {:.2f} and {:.2f} of their attention to what followed before, the next one {:.2f}",
                          first, second, next));
}

TEST_F(Finding, DigitsComeAnotherWay) {
  const auto sweep = wick_json("patch", {"-c", "What is 2 plus 6?", "--by-head"},
                               {"-p", "What is 2 plus 3?", "--prefix", "2 + ", "--json"})
                         .at("sweeps")[0]
                         .at("shown");
  expect_said(fmt::format("head 4.1 alone restores {:.2f} of the answer", sweep[17].get<double>()));
  for (size_t i = 0; i < sweep.size(); ++i) EXPECT_TRUE(i == 17 || std::abs(sweep[i].get<double>()) < 0.05) << i;
}

TEST_F(Finding, ASumBecomesAStory) {
  const auto answers =
      wick_json("steer",
                {"-P", "Tell me a story.", "-P", "Tell me a story about a fox.", "-P", "Tell me a story about a king.",
                 "-N", "What is 2 plus 3?", "-N", "What is 9 minus 4?", "-N", "What is 12 plus 9?", "--layer", "3",
                 "--strength", "1", "-n", "25"},
                {"-p", "What is 4 plus 4?", "--json"})
          .at("answers");
  expect_said("As it is " + answers[0].at("answer").get<std::string>());
  expect_said("With strength 1 " + answers[1].at("answer").get<std::string>());
}

}  // namespace
}  // namespace wick
