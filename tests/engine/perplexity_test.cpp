#include "engine/text/perplexity.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "support/needs_ember.h"

namespace wick {
namespace {

TEST(ScoreWindows, HalvesOfWindowsSideBySide) {
  const auto windows = score_windows(1100, 512);
  ASSERT_EQ(windows.size(), 2u);  // what is left is not read
  EXPECT_EQ(windows[1].begin, 512);
  EXPECT_EQ(windows[1].count, 512);
  EXPECT_EQ(windows[1].count - windows[1].scored, 255);  // as llama.cpp counts
  EXPECT_EQ(score_windows(2, 2).front().scored, 1);
}

TEST(ScoreWindows, WithStrideEveryTokenCountsOnce) {
  for (const int64_t tokens : {2, 9, 10, 11, 64, 65}) {
    for (const int64_t stride : {1, 3, 10}) {
      int64_t next = 1;
      for (const ScoreWindow& window : score_windows(tokens, 10, stride)) {
        EXPECT_EQ(window.begin + window.scored, next);
        EXPECT_LE(window.count, 10);
        EXPECT_GT(window.count, window.scored);
        next = window.begin + window.count;
      }
      // Windows side by side leave out the first token of each, which nothing predicts.
      EXPECT_EQ(next, tokens) << stride;
    }
  }
}

TEST(ScoreWindows, RefusesWhatCannotBeCut) {
  EXPECT_THROW(score_windows(511, 512), Error);
  EXPECT_THROW(score_windows(1, 2, 1), Error);
  EXPECT_THROW(score_windows(100, 1), Error);
  EXPECT_THROW(score_windows(100, 10, 11), Error);
}

TEST(Perplexity, IsThatOfTheLogits) {
  WICK_NEEDS_EMBER();
  const auto model = TextModel::ember();
  GeneratorOptions options;
  options.context = 64;
  options.prefill_chunk = 7;
  Generator generator(model, options);
  const std::vector<int32_t> tokens = model->tokenizer().encode("Once upon a time there was a little dog.");
  const auto count = static_cast<int64_t>(tokens.size());

  double sum = 0;
  generator.score(tokens, [&](int64_t first, std::span<const TokenLogits> rows) {
    for (int64_t row = 0; row < std::ssize(rows) && first + row + 1 < count; ++row) {
      const std::span<const float> logits = rows[static_cast<size_t>(row)].logits;
      double total = 0;
      for (const float logit : logits) total += std::exp(static_cast<double>(logit));
      sum += std::log(total) - logits[static_cast<size_t>(tokens[static_cast<size_t>(first + row + 1)])];
    }
  });
  int calls = 0;
  const auto windows = score_windows(count, 64, 64);
  const Perplexity found =
      measure_perplexity(generator, tokens, windows, -1, [&](const Perplexity& now) { calls += now.windows == 1; });
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(found.tokens, count - 1);
  EXPECT_NEAR(found.sum, sum, 1e-3);
  EXPECT_NEAR(found.value(), std::exp(sum / static_cast<double>(count - 1)), 0.01);
  EXPECT_GT(found.error(), 0);
}

TEST(Perplexity, OfWhatTheModelWroteItselfIsLow) {
  WICK_NEEDS_EMBER();
  const auto model = TextModel::ember();
  GeneratorOptions options;
  options.context = 128;
  Generator generator(model, options);
  std::vector<int32_t> text = model->tokenizer().encode("Once upon a time");
  const auto prompt = static_cast<int64_t>(text.size());
  GenerateParams params;
  params.sampling.temperature = 0;
  params.max_new_tokens = 24;
  params.ignore_end = true;
  const GenerateResult generated = generator.generate(text, params);
  text.insert(text.end(), generated.tokens.begin(), generated.tokens.end());
  const std::vector<ScoreWindow> window = {{0, static_cast<int64_t>(text.size()), prompt}};
  const Perplexity own = measure_perplexity(generator, text, window, -1, [](const Perplexity&) {});
  EXPECT_EQ(own.tokens, 24);
  EXPECT_LT(own.value(), 4);
  for (size_t i = static_cast<size_t>(prompt); i < text.size(); ++i)
    text[i] = static_cast<int32_t>(100 + 37 * i % 2000);
  EXPECT_GT(measure_perplexity(generator, text, window, -1, [](const Perplexity&) {}).value(), 100);
}

}  // namespace
}  // namespace wick
