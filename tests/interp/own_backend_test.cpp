// A model that is no LanguageModel gets the tools by implementing InterpModel: here one whose two layers add the mean
// of the rows so far, times a matrix.
#include <gtest/gtest.h>

#include <cmath>

#include "interp/attribution.h"
#include "interp/head_scores.h"
#include "interp/patching.h"
#include "interp/probes/logit_lens.h"
#include "interp/run_with_cache.h"
#include "interp/steering.h"
#include "interp/text_measures.h"
#include "ops/ops.h"
#include "support/compare.h"
#include "support/errors.h"
#include "support/model_fixtures.h"
#include "tensor/create.h"

namespace wick {
namespace {

class MeanModel final : public InterpModel {
 public:
  static constexpr int kLayers = 2;
  static constexpr int64_t kHidden = 13, kVocabulary = 29;

  MeanModel() : embedding_(randn({kVocabulary, kHidden}, 1)) {
    facts_.family = "mean";
    facts_.layers = kLayers;
    facts_.hidden = kHidden;
    facts_.vocabulary = kVocabulary;
    for (int layer = 0; layer < kLayers; ++layer) mixers_.push_back(randn({kHidden, kHidden}, 2 + layer));
    head_.weight = randn({kVocabulary, kHidden}, 9);
    head_.bias = randn({kVocabulary}, 10);
  }

  const InterpFacts& facts() const override { return facts_; }

  void forward(std::span<const InterpText> texts, LogitRows rows, EachLogits each) const override {
    for (size_t i = 0; i < texts.size(); ++i) {
      const auto count = static_cast<int64_t>(texts[i].tokens.size());
      const std::vector<int64_t> positions = check_positions({}, texts[i].tokens.size());
      const SequenceHooks hooks{texts[i].hooks, texts[i].cache};
      const auto hook = [&](HookPoint point, int layer, const Tensor& x) {
        return hooks.run(point, layer, x, positions);
      };
      const std::vector<int64_t> ids(texts[i].tokens.begin(), texts[i].tokens.end());
      Tensor x = embedding(from_vector(ids, {count}), embedding_);
      for (int layer = 0; layer < kLayers; ++layer) {
        x = hook(HookPoint::kResidPre, layer, x);
        const Tensor seen = div(cumsum(x, 0), reshape(arange(1, static_cast<double>(count) + 1), {count, 1}));
        const Tensor added = hook(HookPoint::kAttnOut, layer, matmul(seen, mixers_[static_cast<size_t>(layer)]));
        x = hook(HookPoint::kResidPost, layer, add(x, added));
      }
      x = hook(HookPoint::kFinalNorm, -1, norm_(x));
      if (rows == LogitRows::kNone) continue;
      each(i, head_(rows == LogitRows::kAll ? x : narrow(x, 0, count - 1, 1).contiguous()));
    }
  }
  Tensor project_to_vocab(const Tensor& rows, bool final_norm) const override {
    return head_(final_norm ? norm_(rows) : rows);
  }
  StreamReader reader() const override { return {&norm_, &head_}; }
  StreamWriter writer(int, HookPoint) const override { return {}; }

 private:
  InterpFacts facts_;
  Tensor embedding_;
  std::vector<Tensor> mixers_;
  Norm norm_{NormKind::kLayer, randn({kHidden}, 20), randn({kHidden}, 21), 1e-5f};
  Linear head_;
};

TEST(OwnBackendTest, TheToolsWorkOnIt) {
  const MeanModel model;
  const std::vector<int32_t> clean = {3, 1, 20, 7, 7, 28}, corrupted = {3, 9, 20, 7, 7, 28};
  const Tensor logits = model.run(clean);

  const LensMap lens = logit_lens(model, clean);
  ASSERT_EQ(lens.points.size(), 3u);
  const std::vector<int64_t> best = argmax(logits, -1).to_vector<int64_t>();
  for (size_t i = 0; i < clean.size(); ++i) EXPECT_EQ(lens.at(2, i).top[0].token, best[i]);

  const Metric metric = Metric::logit_difference(4, 11);
  const SweepMap map = patch_sweep(model, clean, corrupted, HookPoint::kResidPre, {}, metric);
  EXPECT_EQ(map.restored(0, 1), 1);  // the only token that differs
  EXPECT_EQ(map.restored(0, 2), 0);
  EXPECT_FALSE(std::signbit(map.restored(0, 2)));
  EXPECT_NE(map.clean, map.corrupted);

  const Attribution parts = attribute_logit(model, clean, {4, 11});
  EXPECT_EQ(parts.parts.size(), 4u);  // what enters, two layers, the biases
  EXPECT_NEAR(parts.sum(), map.clean, 1e-4);

  const std::vector<double> losses = token_losses(model, clean), shares = log_softmax(logits, -1).to_vector<double>();
  for (size_t i = 0; i < losses.size(); ++i) {
    EXPECT_NEAR(losses[i], -shares[i * MeanModel::kVocabulary + static_cast<size_t>(clean[i + 1])], 1e-5);
  }
  const SteeringVector vector = steering_vector(model, {{clean}}, {{corrupted}}, "blocks.0.hook_resid_post");
  HookSpec spec;
  vector.apply(spec, 1, {5});
  CaptureOptions capture;
  capture.points = {"blocks.0.hook_resid_post"};
  const InterpText text{corrupted, &spec};
  const Tensor steered = run_with_cache(model, std::span(&text, 1), capture).cache.at(capture.points[0]);
  const Tensor wanted = run_with_cache(model, clean, capture).cache.at(capture.points[0]);
  expect_close(narrow(steered, 0, 5, 1).contiguous(), narrow(wanted, 0, 5, 1).contiguous(), 1e-5, "the last row");
}

TEST(OwnBackendTest, WhatItDoesNotHaveIsSaid) {
  const MeanModel model;
  const std::vector<int32_t> tokens = {3, 1, 20};
  CaptureOptions capture;
  capture.points = {"blocks.*.attn.hook_pattern"};
  EXPECT_ERROR(run_with_cache(model, tokens, capture), kInvalidArgument,
               "this mean has no 'blocks.*.attn.hook_pattern'");
  EXPECT_ERROR(head_scores(model, tokens), kUnsupported, "mean models have no attention heads");
  EXPECT_ERROR(attribute_neurons(model, tokens, {1}), kUnsupported, "no layer of this mean has single neurons");
  EXPECT_ERROR(patch_sweep(model, tokens, tokens, HookPoint::kMlpOut, {}, Metric::logit(1)), kInvalidArgument,
               "this mean has no 'blocks.*.hook_mlp_out'");
}

}  // namespace
}  // namespace wick
