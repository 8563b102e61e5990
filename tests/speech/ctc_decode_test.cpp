// CTC against every possible way through the frames.
#include "speech/ctc/ctc_decode.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "support/errors.h"

namespace wick {
namespace {

using Text = std::vector<int32_t>;

struct Made {
  Made(int64_t frames, int64_t vocabulary, int32_t blank, uint32_t seed, float sharpness = 2) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0, sharpness);
    for (int64_t at = 0; at < frames; ++at) {
      std::vector<float> row;
      double sum = 0;
      for (int64_t i = 0; i < vocabulary; ++i) sum += std::exp(row.emplace_back(normal(random)));
      for (const float x : row) values.push_back(x - static_cast<float>(std::log(sum)));
    }
    view = {values, vocabulary, blank};
  }
  std::vector<float> values;
  CtcFrames view;
};

Text text_of(const CtcFrames& frames, const Text& way) {
  Text text;
  int32_t last = frames.blank;
  for (const int32_t id : way) {
    if (id != frames.blank && id != last) text.push_back(id);
    last = id;
  }
  return text;
}

Text ids(const CtcText& text) {
  Text out;
  for (const CtcToken& token : text.tokens) out.push_back(token.id);
  return out;
}

// Calls visit(way, log-probability) for every way.
template <typename Visit>
void every_way(const CtcFrames& frames, const Visit& visit) {
  Text way(static_cast<size_t>(frames.count()), 0);
  for (;;) {
    double sum = 0;
    for (size_t i = 0; i < way.size(); ++i) sum += frames.row(static_cast<int64_t>(i))[way[i]];
    visit(way, sum);
    size_t at = 0;
    while (at < way.size() && ++way[at] == frames.vocabulary) way[at++] = 0;
    if (at == way.size()) return;
  }
}

TEST(CtcBeam, FindsTheLikeliestText) {
  int differ = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    const Made made(1 + seed % 6, 2 + seed % 3, static_cast<int32_t>(seed % 2), seed, 1);
    std::map<Text, double> sums;
    every_way(made.view, [&](const Text& way, double logprob) { sums[text_of(made.view, way)] += std::exp(logprob); });
    const auto best = std::max_element(sums.begin(), sums.end(), [](auto& a, auto& b) { return a.second < b.second; });
    const CtcText found = ctc_beam(made.view, 1000);
    EXPECT_EQ(ids(found), best->first) << seed;
    EXPECT_NEAR(found.logprob, std::log(best->second), 1e-5) << seed;
    differ += ids(ctc_greedy(made.view)) != best->first;
  }
  EXPECT_GT(differ, 3) << "or greedy would do";
}

// What all ways to a text add up to: the forward algorithm of CTC.
double probability_of(const CtcFrames& frames, const Text& text) {
  Text states = {frames.blank};
  for (const int32_t id : text) states.insert(states.end(), {id, frames.blank});
  std::vector<double> now(states.size(), 0);
  for (int64_t at = 0; at < frames.count(); ++at) {
    std::vector<double> next(states.size(), 0);
    for (size_t i = 0; i < states.size(); ++i) {
      double sum = at == 0 ? (i < 2 ? 1 : 0) : now[i] + (i > 0 ? now[i - 1] : 0);
      if (at > 0 && i > 1 && states[i] != frames.blank && states[i] != states[i - 2]) sum += now[i - 2];
      next[i] = sum * std::exp(static_cast<double>(frames.row(at)[states[i]]));
    }
    now = next;
  }
  return now.back() + (now.size() > 1 ? now[now.size() - 2] : 0);
}

TEST(CtcBeam, NarrowBeamsMissWaysAndInventNone) {
  for (uint32_t seed = 0; seed < 10; ++seed) {
    const Made made(40, 20, 0, seed);
    const CtcText narrow = ctc_beam(made.view, 4), wide = ctc_beam(made.view, 100);
    for (const CtcText& found : {narrow, wide}) {
      EXPECT_LE(found.logprob, std::log(probability_of(made.view, ids(found))) + 1e-6) << seed;
    }
    EXPECT_GE(probability_of(made.view, ids(wide)), probability_of(made.view, ids(ctc_greedy(made.view)))) << seed;
  }
}

TEST(CtcBeam, LargeVocabulariesAndNoFrames) {
  const Made made(12, 3000, 2999, 3, 4);
  EXPECT_EQ(ids(ctc_beam(made.view, 8)), ids(ctc_beam(made.view, 8)));
  EXPECT_FALSE(ids(ctc_beam(made.view, 8)).empty());
  const CtcFrames none{{}, 5, 0};
  EXPECT_TRUE(ctc_beam(none, 3).tokens.empty());
  EXPECT_TRUE(ctc_greedy(none).tokens.empty());
  EXPECT_TRUE(ctc_align(none, {})->tokens.empty());
}

TEST(CtcAlign, FindsTheLikeliestWay) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const Made made(1 + seed % 6, 3, 0, seed);
    std::map<Text, std::pair<double, Text>> best;
    every_way(made.view, [&](const Text& way, double logprob) {
      const auto [place, is_new] = best.try_emplace(text_of(made.view, way), logprob, way);
      if (!is_new && logprob > place->second.first) place->second = {logprob, way};
    });
    for (const auto& [text, expected] : best) {
      const auto aligned = ctc_align(made.view, text);
      ASSERT_TRUE(aligned);
      EXPECT_EQ(ids(*aligned), text);
      EXPECT_NEAR(aligned->logprob, expected.first, 1e-5);
      for (const CtcToken& token : aligned->tokens) {
        for (int64_t at = token.begin; at < token.end; ++at) {
          EXPECT_EQ(expected.second[static_cast<size_t>(at)], token.id);
        }
      }
    }
    Text longer(static_cast<size_t>(made.view.count()) + 1, 1);
    EXPECT_FALSE(ctc_align(made.view, longer));
    if (made.view.count() > 1) {
      longer.resize(longer.size() - 1);  // as long as the frames, but the blanks between equal ones do not fit
      EXPECT_FALSE(ctc_align(made.view, longer));
    }
  }
}

TEST(CtcGreedy, JoinsRepetitionsAndTellsFrames) {
  // Tokens a a _ a b b _ with the blank in the middle of the vocabulary.
  const int32_t way[] = {0, 0, 1, 0, 2, 2, 1};
  std::vector<float> values;
  for (size_t at = 0; at < 7; ++at) {
    for (int32_t id = 0; id < 3; ++id) values.push_back(id == way[at] ? -0.1f * static_cast<float>(at + 1) : -5.f);
  }
  const CtcText text = ctc_greedy({values, 3, 1});
  ASSERT_EQ(ids(text), (Text{0, 0, 2}));
  EXPECT_EQ(text.tokens[0].begin, 0);
  EXPECT_EQ(text.tokens[0].end, 2);
  EXPECT_EQ(text.tokens[1].begin, 3);
  EXPECT_EQ(text.tokens[1].end, 4);
  EXPECT_EQ(text.tokens[2].begin, 4);
  EXPECT_EQ(text.tokens[2].end, 6);
  EXPECT_FLOAT_EQ(text.tokens[0].logprob, -0.15f);
  EXPECT_FLOAT_EQ(text.tokens[2].logprob, -0.55f);
  EXPECT_NEAR(text.logprob, -2.8, 1e-5);
}

TEST(CtcDecode, RefusesWhatDoesNotFit) {
  std::vector<float> values(10, -1.f);
  EXPECT_ERROR(ctc_greedy({values, 3, 0}), kInvalidArgument, "10 log-probabilities of 3 tokens");
  EXPECT_ERROR(ctc_beam({values, 5, 5}, 2), kInvalidArgument, "with 5 as the blank");
  EXPECT_ERROR(ctc_beam({values, 5, 0}, 0), kInvalidArgument, "0 beams");
  EXPECT_ERROR(ctc_align({values, 5, 0}, Text{0}), kInvalidArgument, "a text with the token 0");
  EXPECT_ERROR(ctc_align({values, 5, 0}, Text{5}), kInvalidArgument, "a text with the token 5");
  values[3] = NAN;
  EXPECT_ERROR(ctc_beam({values, 5, 0}, 2), kInvalidArgument, "is not a number");
  values[3] = -INFINITY;
  for (float& value : values) value = -INFINITY;
  EXPECT_TRUE(ctc_beam({values, 5, 0}, 2).tokens.empty()) << "nothing is possible";
}

}  // namespace
}  // namespace wick
