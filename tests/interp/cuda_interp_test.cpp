// The tools on CUDA against the same on the CPU, on families with attention, experts and convolutions.
#if WICK_CUDA
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "interp/ablation.h"
#include "interp/attribution.h"
#include "interp/head_scores.h"
#include "interp/knockout.h"
#include "interp/patching.h"
#include "interp/probes/logit_lens.h"
#include "interp/probes/sparse_autoencoder.h"
#include "interp/run_with_cache.h"
#include "interp/steering.h"
#include "interp/text_measures.h"
#include "ops/ops.h"
#include "support/compare.h"
#include "support/interp_models.h"
#include "support/needs_cuda.h"
#include "tensor/create.h"

namespace wick {
namespace {

constexpr double kTolerance = 1e-3;
constexpr size_t kTokens = 21;  // more than one block of the cache

// Weights in f32, so that both devices compute with the same numbers.
std::unique_ptr<LanguageInterp> on(Device device, const std::string& family) {
  const Checkpoint checkpoint = Checkpoint::open(family_folder(family));
  ModelOptions options;
  options.quantize = "f32";
  options.device = device;
  return std::make_unique<LanguageInterp>(load_model(WeightSource(checkpoint), options));
}

class CudaInterp : public NeedsCuda<testing::TestWithParam<std::string>> {
 protected:
  void SetUp() override {
    NeedsCuda::SetUp();
    if (IsSkipped()) return;
    here_ = on(Device::cpu(), GetParam());
    there_ = on(Device::cuda(), GetParam());
    corrupted_ = clean_;
    for (const size_t i : {3, 9, 19}) corrupted_[i] = (clean_[i] + 50) % 192;
  }

  void expect_same(const SweepMap& there, const SweepMap& here, const std::string& what) {
    EXPECT_EQ(there.layers, here.layers) << what;
    EXPECT_EQ(there.positions, here.positions) << what;
    EXPECT_EQ(there.heads, here.heads) << what;
    EXPECT_NEAR(there.clean, here.clean, kTolerance) << what;
    EXPECT_NEAR(there.corrupted, here.corrupted, kTolerance) << what;
    ASSERT_EQ(there.values.size(), here.values.size()) << what;
    for (size_t i = 0; i < here.values.size(); ++i) {
      EXPECT_NEAR(there.values[i], here.values[i], kTolerance) << what << " cell " << i;
    }
  }

  std::unique_ptr<LanguageInterp> here_, there_;
  const std::vector<int32_t> clean_ = some_tokens(kTokens, 1);
  std::vector<int32_t> corrupted_;
};

TEST_P(CudaInterp, RunsAndCaptures) {
  CaptureOptions options;
  options.points = {"hook_embed", "blocks.*.hook_resid_pre", "blocks.*.attn.hook_pattern", "ln_final.hook_normalized"};
  options.may_lack = true;
  options.logits = LogitRows::kAll;
  const std::vector<InterpText> texts = {{clean_, nullptr, nullptr}, {corrupted_, nullptr, nullptr}};
  const CachedRun here = run_with_cache(*here_, texts, options), there = run_with_cache(*there_, texts, options);
  EXPECT_EQ(there.cache.names(), here.cache.names());
  for (size_t text = 0; text < 2; ++text) {
    EXPECT_LE(relative_error(there.logits[text], here.logits[text]), kTolerance);
    for (const std::string& name : here.cache.names()) {
      EXPECT_LE(relative_error(there.cache.at(name, text), here.cache.at(name, text)), kTolerance) << name;
    }
  }
  const std::vector<double> losses = token_losses(*here_, clean_), losses_there = token_losses(*there_, clean_);
  ASSERT_EQ(losses_there.size(), losses.size());
  for (size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses_there[i], losses[i], kTolerance);
}

TEST_P(CudaInterp, Lens) {
  LensOptions options;
  options.follow = {7, 100};
  const LensMap here = logit_lens(*here_, clean_, options), there = logit_lens(*there_, clean_, options);
  EXPECT_EQ(there.points, here.points);
  ASSERT_EQ(there.cells.size(), here.cells.size());
  for (size_t i = 0; i < here.cells.size(); ++i) {
    EXPECT_NEAR(there.cells[i].entropy, here.cells[i].entropy, kTolerance);
    EXPECT_NEAR(there.cells[i].kl, here.cells[i].kl, kTolerance);
    for (size_t j = 0; j < 2; ++j) {
      EXPECT_NEAR(there.cells[i].follow[j].probability, here.cells[i].follow[j].probability, kTolerance);
      EXPECT_NEAR(there.cells[i].follow[j].logit, here.cells[i].follow[j].logit, kTolerance);
    }
    ASSERT_EQ(there.cells[i].top.size(), here.cells[i].top.size());
    for (size_t j = 0; j < here.cells[i].top.size(); ++j) {
      EXPECT_NEAR(there.cells[i].top[j].logit, here.cells[i].top[j].logit, kTolerance);
    }
  }
}

TEST_P(CudaInterp, Attribution) {
  for (const bool by_head : {false, true}) {
    AttributionOptions options;
    options.by_head = by_head;
    const AttributionTarget target{5, 9, -1};
    const Attribution here = attribute_logit(*here_, clean_, target, options);
    const Attribution there = attribute_logit(*there_, clean_, target, options);
    EXPECT_NEAR(there.logit, here.logit, kTolerance);
    EXPECT_NEAR(there.sum(), there.logit, kTolerance);
    ASSERT_EQ(there.parts.size(), here.parts.size());
    for (size_t i = 0; i < here.parts.size(); ++i) {
      EXPECT_EQ(to_string(there.parts[i]), to_string(here.parts[i]));
      EXPECT_NEAR(there.parts[i].value, here.parts[i].value, kTolerance) << to_string(here.parts[i]);
    }
  }
}

TEST_P(CudaInterp, PatchingKnockingOutAndAblation) {
  const Metric metric = Metric::logit_difference(5, 9);
  SweepCells cells;
  cells.positions = {0, 3, 9, 19, -1};
  const SweepMap streams = patch_sweep(*here_, clean_, corrupted_, HookPoint::kResidPre, cells, metric);
  const auto [low, high] = std::minmax_element(streams.values.begin(), streams.values.end());
  EXPECT_GT(*high - *low, 10 * kTolerance) << "no cell matters, so that nothing is compared";
  expect_same(patch_sweep(*there_, clean_, corrupted_, HookPoint::kResidPre, cells, metric), streams, "streams");
  expect_same(patch_sweep(*there_, clean_, corrupted_, HookPoint::kMlpOut, cells, metric),
              patch_sweep(*here_, clean_, corrupted_, HookPoint::kMlpOut, cells, metric), "MLPs");
  cells.by_head = true;
  expect_same(patch_sweep(*there_, clean_, corrupted_, HookPoint::kAttnZ, cells, metric),
              patch_sweep(*here_, clean_, corrupted_, HookPoint::kAttnZ, cells, metric), "heads");
  KnockoutSweep cuts;
  cuts.keys = {3, 9, 17, 19};
  expect_same(knockout_sweep(*there_, clean_, cuts, metric), knockout_sweep(*here_, clean_, cuts, metric), "knock-out");

  const std::vector<std::vector<int32_t>> texts = {some_tokens(9, 5), some_tokens(30, 6)};
  SweepCells layers;
  layers.by_position = false;
  const auto ablated = [&](const LanguageInterp& model) {
    const AblationValues means(model, HookPoint::kAttnOut, Ablation::kMean, texts);
    return ablation_sweep(model, clean_, means, layers, metric);
  };
  expect_same(ablated(*there_), ablated(*here_), "means");

  // Everything that enters the first layer is all that matters.
  CaptureOptions capture;
  capture.points = {"blocks.0.hook_resid_pre"};
  HookSpec all;
  patch_from(all, run_with_cache(*there_, clean_, capture).cache, capture.points[0]);
  EXPECT_LE(relative_error(there_->run(corrupted_, all), there_->run(clean_)), 1e-4);
}

TEST_P(CudaInterp, SteeringAndFeatures) {
  std::vector<std::vector<int32_t>> up, down;
  for (uint32_t i = 0; i < 4; ++i) {
    up.push_back(some_tokens(4 + i, i));
    down.push_back(some_tokens(6, 90 + i));
  }
  const std::string point = "blocks.1.hook_resid_pre";
  const SteeringVector here = steering_vector(*here_, up, down, point),
                       there = steering_vector(*there_, up, down, point);
  EXPECT_LE(relative_error(there.vector, here.vector), kTolerance);
  HookSpec steer;
  here.apply(steer, 2);
  EXPECT_GT(relative_error(here_->run(clean_, steer), here_->run(clean_)), 10 * kTolerance);
  EXPECT_LE(relative_error(there_->run(clean_, steer), here_->run(clean_, steer)), kTolerance);

  const int64_t hidden = here_->facts().hidden;
  const SparseAutoencoder features(
      SparseAutoencoder::Kind::kRelu,
      {mul(randn({hidden, 96}, 1), 0.1), zeros({96}), mul(randn({96, hidden}, 2), 0.1), zeros({hidden}), {}}, point,
      false);
  HookSpec edits;
  features.ablate(edits, {3, 17});
  features.steer(edits, 40, 2.5f, {5, 6});
  EXPECT_LE(relative_error(there_->run(clean_, edits), here_->run(clean_, edits)), kTolerance);
}

TEST_P(CudaInterp, HeadScores) {
  const std::vector<int32_t> text = repeated_tokens(3, 190, 12, 4);
  const HeadScores here = head_scores(*here_, text), there = head_scores(*there_, text);
  expect_close(there.previous, here.previous, kTolerance, "previous");
  expect_close(there.duplicate, here.duplicate, kTolerance, "duplicate");
  expect_close(there.induction, here.induction, kTolerance, "induction");
}

INSTANTIATE_TEST_SUITE_P(All, CudaInterp,
                         testing::Values("llama", "mixtral", "qwen2_moe", "phi", "falcon", "gemma3", "gpt2", "cohere2",
                                         "granite", "lfm2", "gpt_oss"),
                         [](const auto& test) { return test_name(test.param); });

}  // namespace
}  // namespace wick
#endif  // WICK_CUDA
