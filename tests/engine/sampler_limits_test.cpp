#include <gtest/gtest.h>

#include "engine/sampling/sampler.h"
#include "sampler_reference.h"
#include "support/errors.h"

namespace wick {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// One of each way through the sampler.
std::vector<SamplingParams> all_ways() {
  return {{},
          {.temperature = 0},
          {.top_k = 2},
          {.top_p = 0.5f},
          {.min_p = 0.5f},
          {.typical_p = 0.5f},
          {.xtc_probability = 1},
          {.mirostat = true},
          {.repetition_penalty = 2},
          {.dry_multiplier = 1, .dry_breakers = {}}};
}

TEST(SamplerLimits, ForbiddenTokensNeverCome) {
  for (const SamplingParams& params : all_ways()) {
    for (const int64_t vocabulary : {5, 1001}) {
      std::vector<float> logits(static_cast<size_t>(vocabulary), -kInf);
      logits[3] = -5;
      EXPECT_EQ(Sampler(params, vocabulary).sample(logits).token, 3);
      std::fill(logits.begin(), logits.end(), 2.0f);
      std::vector<uint32_t> mask(static_cast<size_t>(vocabulary) / 32 + 1);
      mask[0] = 1u << 3;
      EXPECT_EQ(Sampler(params, vocabulary).sample(logits, mask).token, 3);
      EXPECT_EQ(Sampler(params, vocabulary).sample(logits, std::span(mask).first(1)).token, 3);
    }
  }
}

TEST(SamplerLimits, MaskAndLogitsTogether) {
  const int64_t vocabulary = 1001;
  std::vector<float> logits = random_logits(vocabulary, 5);
  std::vector<uint32_t> mask(32);
  std::vector<float> expected = logits;
  for (size_t i = 0; i < logits.size(); ++i) {
    const bool is_allowed = philox_block(6, i)[0] % 3 == 0;
    if (is_allowed) mask[i / 32] |= 1u << (i % 32);
    if (!is_allowed) expected[i] = -kInf;
  }
  mask[31] |= 0xFFFFFE00;  // beyond the vocabulary
  Sampler sampler({.top_p = 0.9f, .seed = 4}, vocabulary);
  const Distribution distribution = reference_distribution(sampler.params(), expected);
  for (uint64_t i = 0; i < 200; ++i) {
    const int32_t token = sampler.sample(logits, mask).token;
    const auto picked = distribution.pick(uniform_number(4, i));
    EXPECT_EQ(token, picked.value_or(token));
    sampler.accept(token);
  }
}

TEST(SamplerLimits, NothingAllowedIsAnError) {
  const std::vector<float> logits(5, 1.0f), forbidden(5, -kInf);
  const std::vector<uint32_t> none = {0}, beyond = {0xFFFFFFE0};
  for (const SamplingParams& params : all_ways()) {
    EXPECT_ERROR(Sampler(params, 5).sample(forbidden), kInvalidArgument, "no token is allowed");
    EXPECT_ERROR(Sampler(params, 5).sample(logits, none), kInvalidArgument, "no token is allowed");
    EXPECT_ERROR(Sampler(params, 5).sample(logits, beyond), kInvalidArgument, "no token is allowed");
  }
}

TEST(SamplerLimits, NanAndInfinityAreErrors) {
  for (const SamplingParams& params : all_ways()) {
    for (const size_t at : {0u, 63u, 64u, 127u, 128u, 129u}) {
      std::vector<float> logits(130, 1.0f);
      logits[at] = kNan;
      EXPECT_ERROR(Sampler(params, 130).sample(logits), kInvalidArgument,
                   cat("the logit of token ", at, " is not a number (NaN)"));
      const std::vector<uint32_t> mask(5, at == 0 ? 2 : 1);  // forbidden or not
      EXPECT_ERROR(Sampler(params, 130).sample(logits, mask), kInvalidArgument, "NaN");
      logits[at] = -kNan;
      EXPECT_ERROR(Sampler(params, 130).sample(logits), kInvalidArgument, "NaN");
      logits[at] = kInf;
      EXPECT_ERROR(Sampler(params, 130).sample(logits), kInvalidArgument, cat("the logit of token ", at, " is +inf"));
    }
    EXPECT_ERROR(Sampler(params, 5).sample(std::vector<float>(4, 0.0f)), kInvalidArgument,
                 "4 logits for a vocabulary of 5");
    const float most = std::numeric_limits<float>::max();
    const int32_t token = Sampler(params, 5).sample(std::vector<float>{-most, -kInf, most, -most, most}).token;
    EXPECT_TRUE(token == 2 || token == 4) << token;
  }
}

TEST(SamplerLimits, Bias) {
  const std::vector<float> logits = {9, 1, 2, 3, 4};
  for (uint64_t seed = 0; seed < 50; ++seed) {
    EXPECT_EQ(Sampler({.logit_bias = {{1, 100.0f}}, .seed = seed}, 5).sample(logits).token, 1);
    EXPECT_NE(Sampler({.logit_bias = {{0, -100.0f}}, .seed = seed}, 5).sample(logits).token, 0);
    EXPECT_NE(Sampler({.logit_bias = {{0, -kInf}}, .seed = seed}, 5).sample(logits).token, 0);
  }
  EXPECT_EQ(Sampler({.logit_bias = {{0, -100.0f}}}, 1).sample(std::vector<float>{0}).token, 0);
  EXPECT_ERROR(Sampler({.logit_bias = {{0, 3e38f}, {0, 3e38f}}}, 5).sample(logits), kInvalidArgument,
               "bias and penalties make a logit too large");
}

void expect_bad(const SamplingParams& params, std::string_view part) {
  expect_error([&] { check_sampling_params(params, 100); }, ErrorCode::kInvalidArgument, part);
  expect_error([&] { Sampler(params, 100); }, ErrorCode::kInvalidArgument, part);
}

TEST(SamplingParams, OutOfRangeNamesTheField) {
  for (const SamplingParams& params : all_ways()) check_sampling_params(params, 100);
  expect_bad({.temperature = kNan}, "temperature must be finite, not nan");
  expect_bad({.temperature = kInf}, "temperature must be finite, not inf");
  expect_bad({.top_k = -1}, "top_k must be 0 (all) or more, not -1");
  expect_bad({.top_p = 1.5f}, "top_p must be from 0 to 1, not 1.5");
  expect_bad({.min_p = -0.5f}, "min_p must be from 0 to 1, not -0.5");
  expect_bad({.typical_p = kNan}, "typical_p must be from 0 to 1, not nan");
  expect_bad({.repetition_penalty = 0}, "repetition_penalty must be finite and above 0, not 0");
  expect_bad({.frequency_penalty = kInf}, "frequency_penalty must be finite");
  expect_bad({.presence_penalty = -kInf}, "presence_penalty must be finite, not -inf");
  expect_bad({.penalty_window = -2}, "penalty_window must be -1 (all) or more, not -2");
  expect_bad({.dry_multiplier = -1}, "dry_multiplier must be finite and 0 or more, not -1");
  expect_bad({.dry_base = 0.5f}, "dry_base must be finite and 1 or more, not 0.5");
  expect_bad({.dry_allowed_length = 0}, "dry_allowed_length must be 1 or more, not 0");
  expect_bad({.dry_window = -7}, "dry_window must be -1 (all) or more, not -7");
  expect_bad({.dry_breakers = {"a", ""}}, "dry_breakers must not hold an empty text");
  expect_bad({.xtc_probability = 2}, "xtc_probability must be from 0 to 1, not 2");
  expect_bad({.xtc_threshold = -1}, "xtc_threshold must be from 0 to 1, not -1");
  expect_bad({.mirostat_tau = -1}, "mirostat_tau must be finite and 0 or more, not -1");
  expect_bad({.mirostat_eta = kNan}, "mirostat_eta must be finite and 0 or more, not nan");
  expect_bad({.logit_bias = {{-3, 1.0f}}}, "logit_bias: there is no token -3; the vocabulary has 100");
  expect_bad({.logit_bias = {{100, 1.0f}}}, "logit_bias: there is no token 100");
  expect_bad({.logit_bias = {{7, kInf}}}, "logit_bias of token 7 must be finite or -inf, not inf");
  expect_bad({.logprobs = -1}, "logprobs must be 0 or more, not -1");
  EXPECT_ERROR(check_sampling_params({}, 0), kInvalidArgument, "the vocabulary must be of 1 to 2^31-1 tokens, not 0");
}

}  // namespace
}  // namespace wick
