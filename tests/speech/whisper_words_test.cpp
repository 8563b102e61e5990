// Words and their times: the way through a matrix, where a text is cut, how long a word may last.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "speech/whisper/whisper_alignment.h"
#include "speech/whisper/whisper_words.h"
#include "support/tiny_whisper.h"
#include "tensor/create.h"

namespace wick {
namespace {

// The cheapest way by trying all of them.
float cheapest(const std::vector<float>& costs, int64_t rows, int64_t columns) {
  std::function<float(int64_t, int64_t)> to_end = [&](int64_t i, int64_t j) -> float {
    const float here = costs[static_cast<size_t>(i * columns + j)];
    if (i == rows - 1 && j == columns - 1) return here;
    float best = INFINITY;
    if (i + 1 < rows && j + 1 < columns) best = std::min(best, to_end(i + 1, j + 1));
    if (i + 1 < rows) best = std::min(best, to_end(i + 1, j));
    if (j + 1 < columns) best = std::min(best, to_end(i, j + 1));
    return here + best;
  };
  return to_end(0, 0);
}

TEST(WarpTest, IsTheCheapestWay) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (const auto& size : {std::pair<int64_t, int64_t>{1, 1}, {1, 5}, {4, 1}, {4, 6}, {6, 5}}) {
    const int64_t rows = size.first, columns = size.second;
    std::vector<float> costs(static_cast<size_t>(rows * columns));
    for (float& cost : costs) cost = uniform(random);
    const std::vector<int64_t> begins = warp(costs, rows, columns);
    ASSERT_EQ(static_cast<int64_t>(begins.size()), rows);
    EXPECT_EQ(begins[0], 0);
    // A row goes on to where the next begins, or to the column before it, whichever is cheaper.
    const std::function<float(int64_t)> from = [&](int64_t row) -> float {
      const int64_t begin = begins[static_cast<size_t>(row)];
      const int64_t next = row + 1 < rows ? begins[static_cast<size_t>(row + 1)] : columns - 1;
      float sum = 0, best = INFINITY;
      for (int64_t j = begin; j <= next; ++j) {
        sum += costs[static_cast<size_t>(row * columns + j)];
        const bool may_end = row + 1 == rows ? j == columns - 1 : j >= next - 1;
        if (may_end) best = std::min(best, sum + (row + 1 < rows ? from(row + 1) : 0.0f));
      }
      return best;
    };
    EXPECT_NEAR(from(0), cheapest(costs, rows, columns), 1e-5) << rows << " x " << columns;
  }
}

// Heads that look at token i from position 10 i on, among heads that look anywhere.
TEST(AlignTest, FindsWhereTokensAreSaid) {
  constexpr int64_t kHeads = 3, kRows = 9, kPositions = 90;
  Tensor looks = rand({kHeads, kRows, kPositions}, 4);
  for (int64_t h = 0; h < kHeads; ++h) {
    for (int64_t r = 0; r < kRows; ++r) {
      for (int64_t p = 10 * r; p < 10 * (r + 1); ++p) {
        looks.mutable_data<float>()[(h * kRows + r) * kPositions + p] += h == 1 ? 0.0f : 8.0f;
      }
    }
  }
  const std::vector<int64_t> begins = align_rows(looks, 0, kRows);
  for (int64_t r = 0; r < kRows; ++r) EXPECT_NEAR(static_cast<double>(begins[static_cast<size_t>(r)]), 10 * r, 2) << r;
  const std::vector<int64_t> some = align_rows(looks, 2, 7);
  ASSERT_EQ(some.size(), 5u);
  for (size_t r = 1; r < 5; ++r) EXPECT_NEAR(static_cast<double>(some[r]), 10.0 * (2 + static_cast<double>(r)), 2) << r;
}

Tokenizer words_tokenizer() {
  static const std::vector<std::string_view> kTokens = {" He", "llo", ",",  " wor",     "ld",   ".",
                                                        " \"", "yes", "\"", "\xE4\xBD", "\xA0", "\xE5\xA5\xBD",
                                                        "。",  "'",   "s",  " -"};
  return Tokenizer::from_ranks(kTokens, {}, kGpt2Pattern, "words");
}

std::vector<std::string> texts(const std::vector<int32_t>& tokens, bool has_blanks) {
  std::vector<std::string> texts;
  size_t next = 0;
  for (const WhisperWord& word : split_words(tokens, words_tokenizer(), has_blanks)) {
    EXPECT_EQ(word.first, next);
    next += word.count;
    texts.push_back(word.text);
  }
  EXPECT_EQ(next, tokens.size());
  return texts;
}

TEST(WordsTest, AreCutAtBlanksWithTheirPunctuation) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(texts({0, 1, 2, 3, 4, 5}, true), (Texts{" Hello,", " world."}));
  EXPECT_EQ(texts({0, 1, 13, 14, 6, 7, 8, 5}, true), (Texts{" Hello's", " \"yes\"."}));
  EXPECT_EQ(texts({9, 10, 11, 12}, false), (Texts{"你", "好。"}));
  EXPECT_EQ(texts({9, 10, 11}, true), (Texts{"你好"}));
  EXPECT_EQ(texts({0, 9}, true).size(), 1u);  // half a character
  EXPECT_TRUE(texts({}, true).empty());
}

TEST(WordsTest, LastUntilTheNextButNotOverPauses) {
  const std::vector<WhisperWord> words = {{0, 2, " Hello"}, {2, 1, " you."}, {3, 1, " Bye"}, {4, 1, " now"}};
  const std::vector<int64_t> begins = {0, 5, 20, 300, 320, 335};
  const std::vector<float> logprobs = {0, std::log(0.5f), 0, 0, std::log(0.25f)};
  const auto timed = time_words(words, begins, logprobs, 0.02);
  ASSERT_EQ(timed.size(), 4u);
  EXPECT_EQ(timed[0].text, "Hello");
  EXPECT_DOUBLE_EQ(timed[0].begin, 0);
  EXPECT_DOUBLE_EQ(timed[0].end, 0.4);
  EXPECT_NEAR(*timed[0].probability, 0.75f, 1e-6);
  EXPECT_DOUBLE_EQ(timed[1].begin, 0.4);
  EXPECT_DOUBLE_EQ(timed[1].end, 0.4 + 2 * 0.4);  // twice the median, then a pause
  EXPECT_DOUBLE_EQ(timed[2].begin, 6);
  EXPECT_DOUBLE_EQ(timed[3].end, 6.7);
}

}  // namespace
}  // namespace wick
