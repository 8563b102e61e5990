#include <gtest/gtest.h>

#include "engine/sampling/sampler.h"
#include "sampler_reference.h"
#include "support/errors.h"

namespace wick {
namespace {

// Texts of one to three of the letters "ab:\n", so that breakers are cut in every way.
std::string token_text(int32_t token) {
  std::string text;
  const auto random = philox_block(50, static_cast<uint64_t>(token));
  for (uint32_t i = 0; i <= random[3] % 3; ++i) text += "aab:\n"[random[i] % 5];
  return text;
}

// A history that repeats itself.
std::vector<int32_t> repetitive(size_t size, int64_t vocabulary, uint64_t seed) {
  std::vector<int32_t> tokens;
  for (uint64_t i = 0; tokens.size() < size; ++i) {
    const auto random = philox_block(seed, i, 5);
    const size_t length = random[1] % 9;
    if (random[0] % 2 == 0 && tokens.size() > length) {
      const size_t from = random[2] % (tokens.size() - length);
      for (size_t j = 0; j < length; ++j) tokens.push_back(tokens[from + j]);
    } else {
      tokens.push_back(static_cast<int32_t>(random[3] % vocabulary));
    }
  }
  tokens.resize(size);
  return tokens;
}

// Greedy: the highest of the expected logits wins, give or take rounding.
void expect_best(Sampler& sampler, const std::vector<float>& logits, const std::vector<float>& expected) {
  const auto best = static_cast<size_t>(std::max_element(expected.begin(), expected.end()) - expected.begin());
  const auto found = static_cast<size_t>(sampler.sample(logits).token);
  EXPECT_NEAR(expected[found], expected[best], 1e-5) << "tokens " << found << " and " << best;
}

TEST(SamplerHistory, PenaltiesMatchTheirDefinitions) {
  for (const int64_t vocabulary : {1, 5, 101}) {
    for (const int64_t window : {-1, 0, 1, 7, 1000}) {
      for (const bool prompt_counts : {false, true}) {
        const SamplingParams params = {.temperature = 0,
                                       .repetition_penalty = 1.4f,
                                       .frequency_penalty = 0.3f,
                                       .presence_penalty = -0.2f,
                                       .penalty_window = window,
                                       .penalize_prompt = prompt_counts,
                                       .logit_bias = {{0, 0.5f}, {0, 0.25f}}};
        Sampler sampler(params, vocabulary);
        std::vector<int32_t> history = repetitive(20, vocabulary, 3);
        sampler.start(history);
        for (uint64_t i = 0; i < 60; ++i) {
          const std::vector<float> logits = random_logits(vocabulary, 200 + i, 2);
          expect_best(sampler, logits, reference_penalties(params, logits, history, 20));
          history.push_back(sampler.sample(logits).token);
          sampler.accept(history.back());
          if (i % 5 == 4) {
            sampler.rollback(3);
            history.resize(history.size() - 3);
          }
        }
      }
    }
  }
}

TEST(SamplerHistory, DryMatchesItsDefinition) {
  int penalised = 0;
  for (const int64_t window : {-1, 0, 2, 30}) {
    for (uint64_t seed = 0; seed < 60; ++seed) {
      const int64_t vocabulary = 6 + static_cast<int64_t>(seed % 3) * 20;
      SamplingParams params = {.temperature = 0,
                               .dry_multiplier = 0.8f,
                               .dry_allowed_length = 1 + static_cast<int64_t>(seed % 3),
                               .dry_window = window,
                               .dry_breakers = {"\n\n", "ba:", ":::"}};
      if (seed % 4 == 0) params.dry_breakers.clear();
      Sampler sampler(params, vocabulary, token_text);
      std::vector<int32_t> history = repetitive(40, vocabulary, seed);
      sampler.start(std::span<const int32_t>(history).first(15));
      for (size_t i = 15; i < history.size(); ++i) sampler.accept(history[i]);
      sampler.accept(2);
      sampler.accept(3);
      sampler.rollback(2);
      const std::vector<double> off = reference_dry(params, history, static_cast<size_t>(vocabulary), token_text);
      for (size_t token = 0; token < off.size(); ++token) {
        // Two tokens are left: this one, ahead by what it should lose, a little more or less; and one that loses
        // nothing.
        const size_t other = token == 0 ? 1 : 0;
        if (off[other] > 0) continue;
        penalised += off[token] > 0 ? 1 : 0;
        std::vector<float> logits(off.size(), -kInf);
        logits[other] = 0;
        logits[token] = static_cast<float>(off[token] * 1.001 + 0.001);
        EXPECT_EQ(sampler.sample(logits).token, static_cast<int32_t>(token)) << "seed " << seed;
        logits[token] = static_cast<float>(off[token] * 0.999 - 0.001);
        EXPECT_EQ(sampler.sample(logits).token, static_cast<int32_t>(other)) << "seed " << seed;
      }
    }
  }
  EXPECT_GT(penalised, 100);
}

TEST(SamplerHistory, DryStaysFiniteAndSeesPlaceholdersAsBreakers) {
  const SamplingParams params = {.temperature = 0, .dry_multiplier = 1, .dry_base = 1000, .dry_breakers = {}};
  Sampler sampler(params, 3);
  sampler.start(std::vector<int32_t>(500, 1));
  EXPECT_EQ(sampler.sample(std::vector<float>{0, 80, 0}).token, 0);
  EXPECT_EQ(sampler.sample(std::vector<float>{-kInf, 80, -kInf}).token, 1);  // unlikely, not forbidden
  std::vector<int32_t> prompt(500, 1);
  prompt[499] = -1;
  sampler.start(prompt);
  EXPECT_EQ(sampler.sample(std::vector<float>{0, 80, 0}).token, 1);
}

const SamplingParams kEverything = {.temperature = 0.9f,
                                    .top_k = 50,
                                    .top_p = 0.98f,
                                    .repetition_penalty = 1.1f,
                                    .frequency_penalty = 0.1f,
                                    .penalty_window = 40,
                                    .dry_multiplier = 0.5f,
                                    .xtc_probability = 0.4f,
                                    .seed = 99};

std::vector<int32_t> generate(Sampler& sampler, int count, uint64_t first = 0) {
  std::vector<int32_t> tokens;
  for (int i = 0; i < count; ++i) {
    const auto logits = random_logits(1001, first + static_cast<uint64_t>(i), 3);
    tokens.push_back(sampler.sample(logits).token);
    EXPECT_EQ(sampler.sample(logits).token, tokens.back());  // asking again changes nothing
    sampler.accept(tokens.back());
  }
  return tokens;
}

TEST(SamplerHistory, TheSameStreamAgainAfterStartCopyAndRollback) {
  SamplingParams with_mirostat = kEverything;
  with_mirostat.mirostat = true;
  for (const SamplingParams& params : {kEverything, with_mirostat}) {
    Sampler sampler(params, 1001, token_text);
    const std::vector<int32_t> prompt = repetitive(30, 1001, 8);
    sampler.start(prompt);
    const std::vector<int32_t> first = generate(sampler, 60);
    EXPECT_EQ(sampler.accepted(), 60);

    sampler.rollback(25);
    EXPECT_EQ(generate(sampler, 25, 35), std::vector<int32_t>(first.begin() + 35, first.end()));

    sampler.rollback(60);
    Sampler copy = sampler;
    for (int32_t token = 0; token < 20; ++token) sampler.accept(token);  // a draft that is thrown away
    sampler.rollback(20);
    EXPECT_EQ(generate(sampler, 60), first);
    EXPECT_EQ(generate(copy, 60), first);

    sampler.start(prompt);
    EXPECT_EQ(generate(sampler, 60), first);
    sampler.start({});
    EXPECT_NE(generate(sampler, 60), first);
  }
  // Without Mirostat, accepting the tokens is enough: where they came from does not matter.
  Sampler sampler(kEverything, 1001, token_text), resumed = sampler;
  const std::vector<int32_t> all = generate(sampler, 50);
  for (int i = 0; i < 20; ++i) resumed.accept(all[static_cast<size_t>(i)]);
  EXPECT_EQ(generate(resumed, 30, 20), std::vector<int32_t>(all.begin() + 20, all.end()));
}

TEST(SamplerHistory, AnotherSeedIsAnotherStream) {
  SamplingParams other = kEverything;
  other.seed = 100;
  Sampler a(kEverything, 1001, token_text), b(other, 1001, token_text);
  EXPECT_NE(generate(a, 30), generate(b, 30));
}

TEST(SamplerHistory, WrongUseIsAnError) {
  Sampler sampler({}, 5);
  sampler.start(std::vector<int32_t>{1, 2, 3});
  sampler.accept(4);
  EXPECT_ERROR(sampler.accept(5), kInvalidArgument, "no token 5");
  EXPECT_ERROR(sampler.accept(-1), kInvalidArgument, "no token -1");
  EXPECT_ERROR(sampler.rollback(2), kInvalidArgument, "2 tokens cannot be taken back of 1 accepted");
  EXPECT_ERROR(sampler.rollback(-1), kInvalidArgument, "-1 tokens");
  EXPECT_ERROR(Sampler({.dry_multiplier = 1}, 5), kInvalidArgument, "dry_breakers need the text");
}

}  // namespace
}  // namespace wick
