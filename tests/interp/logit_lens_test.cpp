// The lens against the model's own answer and plain sums.
#include "interp/probes/logit_lens.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "formats/safetensors/safetensors_writer.h"
#include "interp/probes/vocab_row.h"
#include "interp/run_with_cache.h"
#include "interp/text_measures.h"
#include "ops/ops.h"
#include "support/compare.h"
#include "support/errors.h"
#include "support/interp_models.h"
#include "support/temp_folder.h"
#include "tensor/create.h"

namespace wick {
namespace {

class LensFamilyTest : public testing::TestWithParam<std::string> {};

TEST_P(LensFamilyTest, LastRowIsTheModelsAnswer) {
  const LanguageInterp model = interp_of(GetParam());
  const std::vector<int32_t> tokens = some_tokens(11, 8);
  const Tensor logits = model.run(tokens), shares = softmax(logits, -1);
  LensOptions options;
  options.top = 3;
  options.follow = {7};
  const LensMap map = logit_lens(model, tokens, options);
  ASSERT_EQ(map.points.size(), static_cast<size_t>(model.facts().layers) + 1);
  ASSERT_EQ(map.positions.size(), tokens.size());
  const Sorted best = topk(logits, 3, -1);
  for (size_t i = 0; i < tokens.size(); ++i) {
    const LensCell& cell = map.at(map.points.size() - 1, i);
    ASSERT_EQ(cell.top.size(), 3u);
    for (size_t j = 0; j < 3; ++j) {
      const int64_t expected = best.indices.to_vector<int64_t>()[i * 3 + j];
      EXPECT_EQ(cell.top[j].token, expected);
      EXPECT_EQ(cell.top[j].rank, static_cast<int64_t>(j));
      EXPECT_EQ(cell.top[j].logit, best.values.to_vector<float>()[i * 3 + j]);
      EXPECT_NEAR(cell.top[j].probability, shares.to_vector<float>()[i * 192 + static_cast<size_t>(expected)], 1e-6);
    }
    EXPECT_EQ(cell.kl, 0);
    EXPECT_NEAR(cell.follow[0].probability, shares.to_vector<float>()[i * 192 + 7], 1e-6);
  }
}

TEST_P(LensFamilyTest, EveryPointIsReadThroughNormAndHead) {
  const LanguageInterp model = interp_of(GetParam());
  const std::vector<int32_t> tokens = some_tokens(9, 2);
  CaptureOptions capture;
  capture.points = {"blocks.1.hook_resid_pre"};
  const Tensor rows = run_with_cache(model, tokens, capture).cache.at("blocks.1.hook_resid_pre");
  // Skipping all that follows is what the lens means.
  HookSpec skip;
  for (int layer = 1; layer < model.facts().layers; ++layer) {
    skip.zero(hook_name(HookPoint::kAttnOut, layer)).zero(hook_name(HookPoint::kMlpOut, layer));
  }
  const Tensor skipped = model.run(tokens, skip);
  expect_close(model.project_to_vocab(rows), skipped, 1e-5, "projection");
  LensOptions options;
  options.points = {"blocks.1.hook_resid_pre"};
  options.positions = {-1, 0};
  const LensMap map = logit_lens(model, tokens, options);
  ASSERT_EQ(map.positions, (std::vector<int64_t>{8, 0}));
  const std::vector<double> p = softmax(model.run(tokens), -1).to_vector<double>();
  const std::vector<double> q = softmax(skipped, -1).to_vector<double>();
  for (size_t i = 0; i < 2; ++i) {
    const size_t row = static_cast<size_t>(map.positions[i]) * 192;
    double entropy = 0, kl = 0;
    for (size_t j = 0; j < 192; ++j) {
      entropy -= q[row + j] * std::log(q[row + j]);
      kl += p[row + j] * std::log(p[row + j] / q[row + j]);
    }
    EXPECT_NEAR(map.at(0, i).entropy, entropy, 1e-4);
    EXPECT_NEAR(map.at(0, i).kl, kl, 1e-4);
    EXPECT_EQ(map.at(0, i).top.size(), 5u);
  }
}

TEST_P(LensFamilyTest, LossesAndNormsAreThoseOfTheRun) {
  const LanguageInterp model = interp_of(GetParam());
  const std::vector<int32_t> tokens = some_tokens(12, 6);
  const std::vector<double> shares = log_softmax(model.run(tokens), -1).to_vector<double>();
  const std::vector<double> losses = token_losses(model, tokens);
  ASSERT_EQ(losses.size(), 11u);
  for (size_t i = 0; i < losses.size(); ++i) {
    EXPECT_NEAR(losses[i], -shares[i * 192 + static_cast<size_t>(tokens[i + 1])], 1e-4);
  }
  CaptureOptions capture;
  capture.points = {"blocks.*.hook_resid_pre", "blocks.*.hook_resid_post"};
  const ActivationCache cache = run_with_cache(model, tokens, capture).cache;
  const Tensor norms = residual_norms(model, tokens);
  ASSERT_EQ(norms.shape(), Shape({model.facts().layers + 1, 12}));
  const int last = model.facts().layers - 1;
  const auto expected = [&](const Tensor& x) { return sqrt(sum(sqr(x), {1})); };
  expect_close(reshape(narrow(norms, 0, 1, 1), {12}), expected(cache.at("blocks.1.hook_resid_pre")), 1e-5, "layer 1");
  expect_close(reshape(narrow(norms, 0, last + 1, 1), {12}), expected(cache.at(hook_name(HookPoint::kResidPost, last))),
               1e-5, "norms at the end");
}

INSTANTIATE_TEST_SUITE_P(All, LensFamilyTest, testing::ValuesIn(interp_families()),
                         [](const auto& test) { return test_name(test.param); });

TEST(TunedLensTest, AnAffineMapComesBeforeTheProjection) {
  const LanguageInterp model = interp_of("qwen3");
  const std::vector<int32_t> tokens = some_tokens(6, 2);
  const TempFolder temp;
  const auto write = [&](const std::string& prefix, int64_t hidden, int layers) {
    std::vector<TensorSpec> specs;
    for (int i = 0; i < layers; ++i) {
      specs.push_back({cat(prefix, i, ".weight"), DType::kF32, {hidden, hidden}});
      specs.push_back({cat(prefix, i, ".bias"), DType::kF32, {hidden}});
    }
    const auto path = temp.path() / "lens.safetensors";
    SafetensorsWriter writer(path, specs);
    for (size_t i = 0; i < specs.size(); ++i) writer.write(specs[i].name, mul(randn(specs[i].shape, i), 0.05));
    writer.finish();
    return path;
  };
  for (const char* prefix : {"", "layer_translators."}) {
    const TunedLens lens = TunedLens::load(write(prefix, 64, 2), 2, 64);
    LensOptions options;
    options.tuned = &lens;
    options.points = {"blocks.1.hook_resid_pre"};
    const LensMap map = logit_lens(model, tokens, options);
    CaptureOptions capture;
    capture.points = options.points;
    const Tensor x = run_with_cache(model, tokens, capture).cache.at(options.points[0]);
    const Tensor y = add(x, add(matmul(x, transpose(mul(randn({64, 64}, 2), 0.05), 0, 1)), mul(randn({64}, 3), 0.05)));
    const std::vector<int64_t> best = argmax(model.project_to_vocab(y), -1).to_vector<int64_t>();
    for (size_t i = 0; i < 6; ++i) EXPECT_EQ(map.at(0, i).top[0].token, best[i]);
  }
  EXPECT_ERROR(TunedLens::load(write("", 64, 1), 2, 64), kBadFile, "there is no '1.weight' for a lens of 2 layers");
  EXPECT_ERROR(TunedLens::load(write("", 32, 2), 2, 64), kBadFile, "'0.weight' is [32, 32], expected [64, 64]");
}

TEST(LogitLensTest, MistakesGetASentence) {
  const LanguageInterp model = interp_of("llama");
  const std::vector<int32_t> tokens = some_tokens(5, 2);
  LensOptions options;
  options.points = {"blocks.*.attn.hook_q"};
  EXPECT_ERROR(logit_lens(model, tokens, options), kInvalidArgument, "the lens reads [positions, 64]");
  options.points = {};
  options.follow = {192};
  EXPECT_ERROR(logit_lens(model, tokens, options), kInvalidArgument, "token 192 is outside");
  options.follow = {};
  options.positions = {7};
  EXPECT_ERROR(logit_lens(model, tokens, options), kInvalidArgument, "position 7 is asked for");
  EXPECT_ERROR(model.project_to_vocab(zeros({3, 63})), kInvalidArgument, "expected [rows, 64]");
  EXPECT_ERROR(token_losses(model, std::span(tokens).first(1)), kInvalidArgument, "a loss needs two");
}

// Against plain sums in f64, around the sizes of lanes and blocks.
TEST(VocabRowTest, SumsAreThoseOfAPlainLoop) {
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  const auto log_sum = [](const std::vector<float>& logits) {
    double sum = 0;
    for (const float x : logits) sum += std::exp(static_cast<double>(x));
    return std::log(sum);
  };
  for (const int64_t size : {1, 7, 8, 9, 1023, 1024, 1025, 4099}) {
    std::vector<float> p = mul(randn({size}, 1), 4).to_vector<float>(), q = mul(randn({size}, 2), 4).to_vector<float>();
    if (size > 7) p[5] = q[5] = p[6] = kNever;
    p.back() = 20;  // the largest may be the last
    double entropy = 0, kl = 0;
    for (size_t i = 0; i < p.size(); ++i) {
      const double log_share = p[i] - log_sum(p);
      if (p[i] == kNever) continue;
      entropy -= std::exp(log_share) * log_share;
      kl += std::exp(log_share) * (log_share - (q[i] - log_sum(q)));
    }
    const VocabRow row(p), other(q);
    EXPECT_NEAR(row.log_sum(), log_sum(p), 1e-5) << size;
    EXPECT_NEAR(other.log_sum(), log_sum(q), 1e-5) << size;
    EXPECT_NEAR(row.entropy(), entropy, 1e-5) << size;
    EXPECT_NEAR(kl_divergence(row, other), kl, 1e-4) << size;
    EXPECT_NEAR(kl_divergence(row, row), 0, 1e-5) << size;
  }
}

TEST(VocabRowTest, TiesGoToTheLowerNumber) {
  const std::vector<float> logits = {1, 3, 3, -2, 3, 0};
  const VocabRow row(logits);
  EXPECT_EQ(row.best(4), (std::vector<int32_t>{1, 2, 4, 0}));
  EXPECT_EQ(row.best(99).size(), 6u);
  EXPECT_TRUE(row.best(0).empty());
  EXPECT_EQ(row.rank(4), 2);
  EXPECT_EQ(row.rank(3), 5);
  double sum = 0;
  for (int32_t i = 0; i < 6; ++i) sum += row.probability(i);
  EXPECT_NEAR(sum, 1, 1e-6);
}

}  // namespace
}  // namespace wick
