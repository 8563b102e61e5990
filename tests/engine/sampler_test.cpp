#include "engine/sampling/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "engine/sampling/weights.h"
#include "sampler_reference.h"
#include "support/errors.h"
#include "support/token_draws.h"

namespace wick {
namespace {

constexpr int64_t kSizes[] = {1, 5, 1001, 151669};

// Token i of an answer against the reference's pick with number i of the seed, for logits that leave no doubt.
void expect_picks(const SamplingParams& params, int64_t vocabulary, double spread) {
  SCOPED_TRACE(cat("vocabulary ", vocabulary));
  std::vector<float> logits;
  Distribution plain, xtc;
  for (uint64_t seed = 1; seed == 1 || plain.is_close || xtc.is_close; ++seed) {
    ASSERT_LT(seed, 10u);
    logits = random_logits(vocabulary, seed, spread);
    plain = reference_distribution(params, logits, false);
    if (params.xtc_probability > 0) xtc = reference_distribution(params, logits, true);
  }
  Sampler sampler(params, vocabulary);
  const int draws = vocabulary > 10000 ? 40 : 400;
  int compared = 0;
  for (int i = 0; i < draws; ++i) {
    const auto index = static_cast<uint64_t>(i);
    const bool is_xtc_on = uniform_number(params.seed, index, 1) < static_cast<double>(params.xtc_probability);
    const auto expected = (is_xtc_on ? xtc : plain).pick(uniform_number(params.seed, index));
    const int32_t token = sampler.sample(logits).token;
    EXPECT_EQ(token, expected.value_or(token)) << "draw " << i;
    compared += expected ? 1 : 0;
    sampler.accept(token);
  }
  EXPECT_GT(compared, draws / 2);
}

void expect_picks(const SamplingParams& params) {
  for (const int64_t size : kSizes) expect_picks(params, size, size > 10000 ? 8 : 4);
}

TEST(Sampler, Temperature) {
  for (const float temperature : {0.1f, 0.7f, 1.0f, 3.0f}) expect_picks({.temperature = temperature, .seed = 5});
}

TEST(Sampler, TinyAndHugeTemperature) {
  const std::vector<float> logits = {1, 5, 4.5f, -kInf, 3};
  EXPECT_EQ(Sampler({.temperature = 1e-40f}, 5).sample(logits).token, 1);
  std::map<int32_t, int> counts;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    ++counts[Sampler({.temperature = 3e38f, .seed = seed}, 5).sample(logits).token];
  }
  EXPECT_EQ(counts.count(3), 0u);
  for (const int32_t token : {0, 1, 2, 4}) EXPECT_NEAR(counts[token], 100, 40);
}

TEST(Sampler, TopK) {
  for (const int64_t k : {1, 2, 40, 900, 5000, 1000000}) expect_picks({.top_k = k, .seed = 6});
}

TEST(Sampler, TopP) {
  for (const float p : {0.0f, 0.3f, 0.9f, 0.99f}) expect_picks({.top_p = p, .seed = 7});
  expect_picks({.top_p = 0.5f, .seed = 7}, 1001, 0.05);  // nearly flat: most tokens matter
}

TEST(Sampler, MinP) {
  for (const float p : {0.01f, 0.1f, 1.0f}) expect_picks({.min_p = p, .seed = 8});
}

TEST(Sampler, Typical) {
  for (const float p : {0.2f, 0.9f}) expect_picks({.typical_p = p, .seed = 9});
}

TEST(Sampler, XtcLeavesTheLeastLikelyOfTheTopChoices) {
  expect_picks({.xtc_probability = 0.5f, .xtc_threshold = 0.05f, .seed = 10}, 5, 4);
  expect_picks({.xtc_probability = 1.0f, .xtc_threshold = 0.002f, .seed = 10}, 1001, 4);
  expect_picks({.top_k = 5, .xtc_probability = 0.5f, .xtc_threshold = 0.1f, .seed = 10});
  const std::vector<float> logits = {3, 5, 4.5f, -9, 3.9f};  // probabilities of about 0.07, 0.48, 0.29, 0, 0.16
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const int32_t token = Sampler({.xtc_probability = 1, .seed = seed}, 5).sample(logits).token;
    EXPECT_TRUE(token == 4 || token == 0 || token == 3) << token;
  }
}

TEST(Sampler, AllTogether) {
  expect_picks({.temperature = 1.3f,
                .top_k = 40,
                .top_p = 0.95f,
                .min_p = 0.02f,
                .typical_p = 0.97f,
                .xtc_probability = 0.3f,
                .xtc_threshold = 0.08f,
                .seed = 11});
  expect_picks({.temperature = 0.6f, .top_p = 0.9f, .min_p = 0.03f, .seed = 12});
  expect_picks({.top_p = 0.7f, .typical_p = 0.8f, .seed = 13});
}

TEST(Sampler, EqualLogitsGoByToken) {
  const std::vector<float> equal(1001, 2.5f), signs = {-0.0f, 0.0f, -0.0f};
  EXPECT_EQ(Sampler({.temperature = 0}, 1001).sample(equal).token, 0);
  EXPECT_EQ(Sampler({.temperature = -1}, 3).sample(signs).token, 0);
  for (uint64_t seed = 0; seed < 50; ++seed) {
    EXPECT_LT(Sampler({.top_k = 3, .seed = seed}, 1001).sample(equal).token, 3);
    EXPECT_LT(Sampler({.top_p = 0.0995f, .seed = seed}, 1001).sample(equal).token, 100);
    EXPECT_LT(Sampler({.top_k = 1, .seed = seed}, 3).sample(signs).token, 1);
  }
}

TEST(Sampler, GreedyTakesTheFirstHighest) {
  for (const int64_t size : {1, 5, 63, 64, 65, 1001, 151669}) {
    for (int64_t at = 0; at < size; at += std::max<int64_t>(1, size / 7)) {
      std::vector<float> logits = random_logits(size, 4);
      for (const int64_t best : {at, size - 1}) logits[static_cast<size_t>(best)] = 50;
      EXPECT_EQ(Sampler({.temperature = 0}, size).sample(logits).token, at);
    }
  }
}

// Weights are what their name says, and no order changes their sum.
TEST(Sampler, WeightsAddUpExactly) {
  for (const float x : {0.0f, 0.1f, 1.0f, 5.5f, 20.0f, 24.0f, 30.0f, 79.9f, 80.1f, 1e30f, kInf}) {
    const auto weight = static_cast<double>(weight_below(x)), expected = std::exp(-static_cast<double>(x));
    EXPECT_NEAR(weight, expected, expected * 0x1p-22 + 0x1p-36) << x;
    EXPECT_EQ(std::ldexp(weight, kWeightBits), std::round(std::ldexp(weight, kWeightBits))) << x;
  }
  std::vector<float> logits = random_logits(200003, 3, 9);
  const float most = *std::ranges::max_element(logits);
  sampling::WeightMemory memory;
  const double total = sampling::make_weights(logits, most, 1, memory).total;
  std::ranges::reverse(logits);
  EXPECT_EQ(sampling::make_weights(logits, most, 1, memory).total, total);
  std::ranges::sort(logits);
  EXPECT_EQ(sampling::make_weights(logits, most, 1, memory).total, total);
}

// Whoever draws as plain_draw() says chooses what sample() chooses.
TEST(Sampler, OthersCanDrawTheSame) {
  const SamplingParams several[] = {{.temperature = 0},
                                    {.temperature = 1, .seed = 2},
                                    {.temperature = 0.7f, .top_k = 1, .seed = 3},
                                    {.temperature = 1, .top_k = 20, .top_p = 0.95f, .seed = 4},
                                    {.temperature = 1.5f, .top_k = 400, .min_p = 0.02f, .seed = 5},
                                    {.temperature = 0.8f, .top_p = 0.9f, .seed = 6},
                                    {.temperature = 1, .top_k = 9000, .top_p = 0.999f, .min_p = 0.001f, .seed = 7},
                                    {.temperature = 0, .repetition_penalty = 2, .seed = 8},
                                    {.temperature = 0.9f,
                                     .top_p = 0.95f,
                                     .repetition_penalty = 1.2f,
                                     .frequency_penalty = 0.3f,
                                     .presence_penalty = -0.2f,
                                     .dry_multiplier = 1,
                                     .dry_breakers = {},
                                     .logit_bias = {{3, 4.0f}, {17, -kInf}, {3, 0.3f}},
                                     .seed = 9}};
  constexpr int64_t kVocabulary = 5003;
  for (const SamplingParams& params : several) {
    Sampler sampler(params, kVocabulary);
    for (uint64_t i = 0; i < 200; ++i) {
      std::vector<float> logits = random_logits(kVocabulary, i, 3);
      if (i % 3 == 0) std::ranges::transform(logits, logits.begin(), [](float x) { return std::round(x); });  // ties
      if (i % 4 == 0) std::fill_n(logits.begin(), 2000, -kInf);
      const auto draw = sampler.plain_draw(), next = sampler.plain_draw(1);
      ASSERT_TRUE(draw);
      const int32_t token = sampler.sample(logits).token;
      LogitEdits edits;
      sampler.add_edits(5, edits);
      for (const auto& round : edits) {
        std::set<int32_t> seen;
        for (const LogitEdit& edit : round) {
          EXPECT_EQ(edit.row, 5);
          EXPECT_TRUE(seen.insert(edit.token).second) << "token " << edit.token << " comes twice";
          logits[static_cast<size_t>(edit.token)] = edited(logits[static_cast<size_t>(edit.token)], edit);
        }
      }
      EXPECT_EQ(reference_draw(logits, *draw), token) << "draw " << i;
      sampler.accept(token);
      if (next) {
        EXPECT_EQ(sampler.plain_draw(), next);
      }
    }
  }
}

TEST(Sampler, TheLastTokenIsNotMissed) {
  const std::vector<float> logits = {1, 2, 0.5f, -kInf, -3, -200};
  sampling::WeightMemory memory;
  EXPECT_EQ(sampling::make_weights(logits, 2, 1, memory).draw(1 - 0x1p-53), 4u);
  EXPECT_EQ(sampling::make_weights(std::vector<float>(130, 0.0f), 0, 1, memory).draw(1 - 0x1p-53), 129u);
}

// What asks about all tokens, or about those that are not known yet, needs the logits.
TEST(Sampler, SomeChoicesNeedTheLogits) {
  const auto is_plain = [](const SamplingParams& params, int64_t ahead = 0) {
    return Sampler(params, 1000).plain_draw(ahead).has_value();
  };
  EXPECT_TRUE(is_plain({.temperature = 0, .typical_p = 0.5f}, 3));
  for (const int64_t ahead : {0, 1}) {
    EXPECT_EQ(is_plain({.temperature = 0, .repetition_penalty = 1.1f}, ahead), ahead == 0);
    EXPECT_EQ(is_plain({.temperature = 1, .dry_multiplier = 1, .dry_breakers = {}}, ahead), ahead == 0);
    EXPECT_EQ(is_plain({.temperature = 1, .logit_bias = {{3, 1.0f}}}, ahead), ahead == 0);
  }
  EXPECT_FALSE(is_plain({.temperature = 0, .logprobs = 0}));
  EXPECT_FALSE(is_plain({.temperature = 1, .top_k = 5, .mirostat = true}));
  EXPECT_FALSE(is_plain({.temperature = 1, .top_k = 5, .typical_p = 0.9f}));
  EXPECT_FALSE(is_plain({.temperature = 1, .top_k = 5, .xtc_probability = 0.1f}));
}

// The sum of (seen - expected)^2 / expected has a mean of `classes` and a variance of twice that.
TEST(Sampler, FrequenciesMatchTheDistribution) {
  for (const int64_t vocabulary : {5, 1001}) {
    for (const SamplingParams& params :
         {SamplingParams{.seed = 1}, SamplingParams{.temperature = 0.7f, .top_k = 20, .top_p = 0.9f, .seed = 2}}) {
      const std::vector<float> logits = random_logits(vocabulary, 21, 2);
      const Distribution expected = reference_distribution(params, logits);
      Sampler sampler(params, vocabulary);
      const int draws = 50000;
      std::map<int32_t, int> seen;
      for (int i = 0; i < draws; ++i) {
        const int32_t token = sampler.sample(logits).token;
        ++seen[token];
        sampler.accept(token);
      }
      double chi_square = 0;
      int total = 0;
      for (const Entry& entry : expected.entries) {
        const double mean = entry.p * draws, difference = seen[entry.token] - mean;
        chi_square += difference * difference / mean;
        total += seen[entry.token];
      }
      const auto classes = static_cast<double>(expected.entries.size());
      EXPECT_LT(chi_square, classes + 4 * std::sqrt(2 * classes) + 4);
      EXPECT_EQ(total, draws) << "tokens that were left out came up";
    }
  }
}

TEST(Sampler, MirostatFollowsTheDefinition) {
  for (const int64_t vocabulary : kSizes) {
    const SamplingParams params = {
        .temperature = 1.2f, .mirostat = true, .mirostat_tau = 3, .mirostat_eta = 0.2f, .seed = 14};
    Sampler sampler(params, vocabulary);
    double mu = 6;
    for (uint64_t i = 0; i < (vocabulary > 10000 ? 20u : 200u); ++i) {
      const std::vector<float> logits = random_logits(vocabulary, 100 + i, 3);
      Distribution left;
      left.entries = allowed_entries(logits);
      sort_by_logit(left.entries);
      normalise(left.entries, 1.2);
      while (left.entries.size() > 1 && -std::log2(left.entries.back().p) > mu) left.entries.pop_back();
      normalise(left.entries, 1.2);
      sort_by_token(left.entries);
      const auto expected = left.pick(uniform_number(params.seed, i));
      const int32_t token = sampler.sample(logits).token;
      ASSERT_EQ(token, expected.value_or(token)) << "token " << i << " of " << vocabulary;
      sampler.accept(token);
      mu -= 0.2 * (-std::log2(left.probability(token)) - 3);
    }
  }
}

TEST(Sampler, LogprobsAreTheModelsOwn) {
  for (const int64_t vocabulary : kSizes) {
    const std::vector<float> logits = random_logits(vocabulary, 31);
    Entries entries = allowed_entries(logits);
    normalise(entries);
    const Entries by_token = entries;
    sort_by_logit(entries);
    Sampler sampler({.temperature = 0.5f, .top_k = 7, .logit_bias = {{0, 100.0f}}, .logprobs = 20}, vocabulary);
    const SampledToken choice = sampler.sample(logits);
    EXPECT_EQ(choice.token, 0);
    EXPECT_NEAR(choice.logprob, std::log(by_token[0].p), 1e-5);
    ASSERT_EQ(choice.top.size(), static_cast<size_t>(std::min<int64_t>(20, vocabulary)));
    for (size_t i = 0; i < choice.top.size(); ++i) {
      EXPECT_EQ(choice.top[i].first, entries[i].token);
      EXPECT_NEAR(choice.top[i].second, std::log(entries[i].p), 1e-5);
    }
  }
  const SampledToken alone = Sampler({.logprobs = 0}, 5).sample(std::vector<float>{1, 1, 1, 1, -kInf});
  EXPECT_NEAR(alone.logprob, -std::log(4.0), 1e-6);
  EXPECT_TRUE(alone.top.empty());
}

}  // namespace
}  // namespace wick
