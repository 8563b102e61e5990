// Patching, knock-out and ablation: identities that hold to the bit, on every family.
#include "interp/patching.h"

#include <gtest/gtest.h>

#include "interp/ablation.h"
#include "interp/knockout.h"
#include "interp/path_patching.h"
#include "interp/run_with_cache.h"
#include "ops/ops.h"
#include "support/compare.h"
#include "support/errors.h"
#include "support/interp_models.h"
#include "tensor/create.h"

namespace wick {
namespace {

constexpr size_t kTokens = 21;  // more than one block of the cache

class PatchFamilyTest : public testing::TestWithParam<std::string> {
 protected:
  PatchFamilyTest() : model_(interp_of(GetParam())), clean_(some_tokens(kTokens, 1)), corrupted_(clean_) {
    corrupted_[3] = (clean_[3] + 50) % 192;
    corrupted_[9] = (clean_[9] + 77) % 192;
    corrupted_[19] = (clean_[19] + 5) % 192;  // within every window of the last token
  }

  // The same point by point, without sharing and without batches.
  double alone(const HookSpec& spec, const Metric& metric) const {
    HookSpec watched = spec;
    watched.capture("hook_embed");  // nothing can be shared then
    const std::vector<float> clean = model_.run(clean_, {}, LogitRows::kLast).to_vector<float>();
    return measure(metric, model_.run(corrupted_, watched, LogitRows::kLast).to_vector<float>(), clean);
  }
  std::vector<HookPoint> points() const {
    std::vector<HookPoint> points = {HookPoint::kResidPre, HookPoint::kAttnOut, HookPoint::kResidPost};
    if (GetParam() != "mamba" && GetParam() != "mamba2") points.push_back(HookPoint::kMlpOut);
    if (model_.facts().heads > 0) points.push_back(HookPoint::kAttnZ);
    return points;
  }

  LanguageInterp model_;
  std::vector<int32_t> clean_, corrupted_;
};

TEST_P(PatchFamilyTest, PatchingEverythingRestoresTheCleanRun) {
  CaptureOptions capture;
  capture.points = {"blocks.*.hook_resid_pre", "blocks.*.hook_resid_post"};
  const CachedRun clean = run_with_cache(model_, clean_, capture);
  HookSpec first, last;
  patch_from(first, clean.cache, "blocks.0.hook_resid_pre");
  patch_from(last, clean.cache, hook_name(HookPoint::kResidPost, model_.facts().layers - 1));
  const Tensor expected = model_.run(clean_);
  EXPECT_GT(relative_error(model_.run(corrupted_), expected), 1e-4);
  expect_identical(model_.run(corrupted_, first), expected, "everything that enters the first layer");
  expect_identical(model_.run(corrupted_, last), expected, "everything that leaves the last");
  // Patching a run with itself, or nothing, changes nothing.
  const CachedRun corrupted = run_with_cache(model_, corrupted_, capture);
  HookSpec same;
  for (const std::string& name : corrupted.cache.names()) patch_from(same, corrupted.cache, name);
  expect_identical(model_.run(corrupted_, same), model_.run(corrupted_), "a run patched with itself");
}

TEST_P(PatchFamilyTest, SweepIsTheSameAsOneByOne) {
  const Metric metric = Metric::logit_difference(5, 9);
  CaptureOptions capture;
  for (const HookPoint point : points()) capture.points.push_back(hook_name(point, HookSite::kEveryLayer));
  const ActivationCache clean = run_with_cache(model_, clean_, capture).cache;
  for (const HookPoint point : points()) {
    SweepCells cells;
    cells.positions = {0, 3, 9, 16, -1};
    cells.by_head = point == HookPoint::kAttnZ;
    int64_t done = 0;
    cells.progress = [&](int64_t now, int64_t total) {
      EXPECT_LE(now, total);
      done = now;
    };
    const SweepMap map = patch_sweep(model_, clean_, corrupted_, point, cells, metric);
    EXPECT_EQ(map.clean, measure(metric, model_.run(clean_, {}, LogitRows::kLast).to_vector<float>(), {}));
    EXPECT_EQ(map.corrupted, alone({}, metric));
    ASSERT_EQ(done, static_cast<int64_t>(map.values.size()));
    ASSERT_EQ(map.values.size(), map.layers.size() * 5 * (cells.by_head ? 4 : 1));
    for (size_t layer = 0; layer < map.layers.size(); ++layer) {
      for (size_t position = 0; position < map.rows(); ++position) {
        for (size_t head = 0; head < map.columns(); ++head) {
          HookPart part{{map.positions[position]}, {}};
          if (cells.by_head) part.heads = {map.heads[head]};
          HookSpec spec;
          patch_from(spec, clean, hook_name(point, map.layers[layer]), part);
          EXPECT_EQ(map.at(layer, position, head), alone(spec, metric))
              << hook_name(point, map.layers[layer]) << " at " << map.positions[position];
        }
      }
    }
    // What both texts have in common up to a position needs no patch there.
    if (point == HookPoint::kResidPre) {
      EXPECT_EQ(map.at(0, 0), map.corrupted);
    }
  }
}

TEST_P(PatchFamilyTest, MetricsSeeThePatchedAnswer) {
  SweepCells cells;
  cells.by_position = false;
  const HookPoint point = HookPoint::kResidPost;
  const size_t last = static_cast<size_t>(model_.facts().layers) - 1;
  for (const Metric& metric : {Metric::logit(4), Metric::logit_difference(4, 8), Metric::probability(4),
                               Metric::log_probability(4), Metric::kl()}) {
    const SweepMap map = patch_sweep(model_, clean_, corrupted_, point, cells, metric);
    EXPECT_EQ(map.at(last), map.clean);
    EXPECT_EQ(map.restored(last), 1);
    EXPECT_NE(map.corrupted, map.clean);
  }
  EXPECT_EQ(patch_sweep(model_, clean_, corrupted_, point, cells, Metric::kl()).clean, 0);
  // At an earlier position, what comes behind does not count.
  Metric early = Metric::logit(4);
  early.position = 2;
  const SweepMap map = patch_sweep(model_, clean_, corrupted_, HookPoint::kResidPre, {}, early);
  EXPECT_EQ(map.clean, map.corrupted);
  EXPECT_EQ(map.rows(), 3u);
}

TEST_P(PatchFamilyTest, AblationsPutInWhatTheySay) {
  const std::vector<std::vector<int32_t>> texts = {some_tokens(9, 5), some_tokens(30, 6)};
  const Metric metric = Metric::logit(3);
  SweepCells cells;
  cells.by_position = false;
  cells.layers = {1};
  const AblationValues zero(model_, HookPoint::kAttnOut, Ablation::kZero);
  HookSpec spec;
  spec.zero("blocks.1.hook_attn_out");
  EXPECT_EQ(ablation_sweep(model_, corrupted_, zero, cells, metric).at(0), alone(spec, metric));

  CaptureOptions capture;
  capture.points = {"blocks.1.hook_attn_out"};
  const InterpText references[] = {{texts[0]}, {texts[1]}};
  const ActivationCache cache = run_with_cache(model_, references, capture).cache;
  const Tensor rows = concat({cache.at("blocks.1.hook_attn_out", 0), cache.at("blocks.1.hook_attn_out", 1)}, 0);
  HookSpec mean_spec;
  mean_spec.replace("blocks.1.hook_attn_out", mean(rows, {0}));
  const AblationValues means(model_, HookPoint::kAttnOut, Ablation::kMean, texts);
  EXPECT_NEAR(ablation_sweep(model_, corrupted_, means, cells, metric).at(0), alone(mean_spec, metric), 1e-4);

  const AblationValues sample(model_, HookPoint::kAttnOut, Ablation::kResample, texts, 1);
  HookSpec sample_spec;
  patch_from(sample_spec, cache, "blocks.1.hook_attn_out", {check_positions({}, kTokens), {}}, 1);
  EXPECT_EQ(ablation_sweep(model_, corrupted_, sample, cells, metric).at(0), alone(sample_spec, metric));
  EXPECT_ERROR(AblationValues(model_, HookPoint::kAttnOut, Ablation::kMean), kInvalidArgument, "needs reference texts");
}

TEST_P(PatchFamilyTest, PathsOfNothingCarryNothing) {
  const Metric metric = Metric::logit(3);
  const int last = model_.facts().layers - 1;
  const PathNode sender{HookPoint::kAttnOut, 0, {}}, receiver{HookPoint::kResidPost, last, {}};
  const std::vector<float> plain = model_.run(clean_, {}, LogitRows::kLast).to_vector<float>();
  EXPECT_NEAR(path_patch(model_, clean_, clean_, {{sender}}, {{receiver}}, metric)[0], plain[3], 1e-4);

  // With everything else as it was, the direct path to the end is a difference in the stream.
  CaptureOptions capture;
  capture.points = {"blocks.0.hook_attn_out", hook_name(HookPoint::kResidPost, last)};
  const ActivationCache a = run_with_cache(model_, clean_, capture).cache,
                        b = run_with_cache(model_, corrupted_, capture).cache;
  const Tensor end = add(a.at(hook_name(HookPoint::kResidPost, last)),
                         sub(b.at("blocks.0.hook_attn_out"), a.at("blocks.0.hook_attn_out")));
  const Tensor logits = model_.project_to_vocab(narrow(end, 0, kTokens - 1, 1).contiguous());
  const double direct = path_patch(model_, clean_, corrupted_, {{sender}}, {{receiver}}, metric)[0];
  EXPECT_NEAR(direct, logits.to_vector<float>()[3], 1e-4);
  EXPECT_NE(direct, plain[3]);
}

INSTANTIATE_TEST_SUITE_P(All, PatchFamilyTest, testing::ValuesIn(interp_families()),
                         [](const auto& test) { return test_name(test.param); });

class PassTest : public testing::TestWithParam<const char*> {};

TEST_P(PassTest, CutsAndThreadsMakeNoDifference) {
  const std::vector<int32_t> clean = some_tokens(35, 1), corrupted = some_tokens(35, 2);
  const Metric metric = Metric::logit(7);
  const auto values_with = [&](int64_t rows, int threads) {
    const ThreadCount count(threads);
    LanguageInterpOptions options;
    options.rows_per_pass = rows;
    const LanguageInterp model = interp_of(GetParam(), options);
    return patch_sweep(model, clean, corrupted, HookPoint::kAttnOut, {}, metric).values;
  };
  const std::vector<double> expected = values_with(2048, 2);
  EXPECT_EQ(expected.size(), 70u);
  EXPECT_EQ(values_with(1, 2), expected);
  EXPECT_EQ(values_with(50, 3), expected);
}

INSTANTIATE_TEST_SUITE_P(All, PassTest, testing::Values("qwen3", "gemma2", "lfm2", "mamba", "rwkv"));

TEST(FirstHookedPositionTest, IsWhereTheFirstEditIs) {
  const Tensor row = zeros({64});
  HookSpec spec;
  EXPECT_EQ(first_hooked_position(spec, 9), 9);
  spec.replace("blocks.1.hook_mlp_out", row, {{6, 4}, {}}).zero("hook_embed", {{5}, {}});
  EXPECT_EQ(first_hooked_position(spec, 9), 4);
  EXPECT_EQ(first_hooked_position(HookSpec(spec).zero("hook_embed"), 9), 0);
  EXPECT_EQ(first_hooked_position(HookSpec(spec).capture("hook_embed"), 9), 0);
  EXPECT_EQ(first_hooked_position(HookSpec(spec).knockout(0, {{7, 2}}), 9), 0);
  EXPECT_EQ(first_hooked_position(HookSpec(spec).zero("blocks.0.mixer.hook_state", {{7}, {}}), 9), 0);
  EXPECT_EQ(
      first_hooked_position(HookSpec(spec).call("hook_embed", [](const Tensor& x, const HookMoment&) { return x; }), 9),
      0);
}

class KnockoutFamilyTest : public testing::TestWithParam<const char*> {};

TEST_P(KnockoutFamilyTest, WithoutEdgesATokenIsNotThere) {
  const LanguageInterp model = interp_of(GetParam());
  std::vector<int32_t> tokens = some_tokens(15, 4);
  HookSpec spec;
  knock_out(spec, model, {{}, {6}, {}, {}}, tokens.size());
  const Tensor cut = model.run(tokens, spec);
  EXPECT_GT(relative_error(cut, model.run(tokens)), 1e-4);
  // Nothing comes from it: any other token in its place gives the same bits everywhere else.
  tokens[6] = (tokens[6] + 11) % 192;
  const Tensor other = model.run(tokens, spec);
  const auto behind = [](const Tensor& x) { return narrow(x, 0, 7, 8).contiguous(); };
  expect_identical(behind(other), behind(cut), "rows behind it");
}

INSTANTIATE_TEST_SUITE_P(All, KnockoutFamilyTest,
                         testing::Values("llama", "qwen3", "gemma2", "gpt2", "mixtral", "falcon", "phi", "gpt_oss"));

class RelativeFamilyTest : public testing::TestWithParam<const char*> {};

// Where positions are relative, a first token that nobody sees is a text without it.
TEST_P(RelativeFamilyTest, AHiddenFirstTokenIsAMissingOne) {
  const LanguageInterp model = interp_of(GetParam());
  const std::vector<int32_t> tokens = some_tokens(14, 9);
  HookSpec spec;
  knock_out(spec, model, {{}, {0}, {}, {}}, tokens.size());
  const Tensor rest = model.run(std::span(tokens).subspan(1));
  EXPECT_LE(relative_error(narrow(model.run(tokens, spec), 0, 1, 13), rest), 2e-5);
  EXPECT_GT(relative_error(narrow(model.run(tokens), 0, 1, 13), rest), 1e-3);
}

INSTANTIATE_TEST_SUITE_P(All, RelativeFamilyTest,
                         testing::Values("llama", "qwen3", "gemma2", "mixtral", "phi", "olmo2"));

TEST(KnockoutTest, SweepHidesOneKeyInOneWindow) {
  const LanguageInterp model = interp_of("qwen3");
  const std::vector<int32_t> tokens = some_tokens(18, 4);
  const Metric metric = Metric::logit(2);
  KnockoutSweep cells;
  cells.queries = {-1};
  const SweepMap narrow_map = knockout_sweep(model, tokens, cells, metric);
  EXPECT_EQ(narrow_map.layers, (std::vector<int>{0, 1}));
  EXPECT_EQ(narrow_map.rows(), 18u);
  for (const size_t layer : {0, 1}) {
    for (const size_t key : {0, 5, 16}) {
      HookSpec spec;
      spec.knockout(static_cast<int>(layer), {{17, static_cast<int64_t>(key)}});
      EXPECT_EQ(narrow_map.at(layer, key), model.run(tokens, spec, LogitRows::kLast).to_vector<float>()[2]);
    }
  }
  cells.window = 3;  // both layers, whichever is in the middle
  const SweepMap wide = knockout_sweep(model, tokens, cells, metric);
  for (size_t key = 0; key < 18; ++key) EXPECT_EQ(wide.at(0, key), wide.at(1, key));
}

TEST(PatchingTest, MistakesGetASentence) {
  const LanguageInterp model = interp_of("llama"), mamba = interp_of("mamba");
  const std::vector<int32_t> clean = some_tokens(7, 1), longer = some_tokens(9, 1);
  const Metric metric = Metric::logit(1);
  const auto sweep_with = [&](HookPoint point, const SweepCells& cells) {
    return patch_sweep(model, clean, clean, point, cells, metric);
  };
  EXPECT_ERROR(patch_sweep(model, clean, longer, HookPoint::kResidPre, {}, metric), kInvalidArgument,
               "the clean text has 7 tokens and the corrupted one 9; patching needs texts of the same length");
  SweepCells cells;
  cells.layers = {2};
  EXPECT_ERROR(sweep_with(HookPoint::kResidPre, cells), kInvalidArgument, "layer 2 is asked for");
  cells.layers = {};
  cells.positions = {7};
  EXPECT_ERROR(sweep_with(HookPoint::kResidPre, cells), kInvalidArgument, "position 7 is asked for");
  cells.positions = {};
  cells.by_head = true;
  EXPECT_ERROR(sweep_with(HookPoint::kMlpOut, cells), kInvalidArgument, "'blocks.*.hook_mlp_out' has no heads");
  cells.heads = {4};
  EXPECT_ERROR(sweep_with(HookPoint::kAttnZ, cells), kInvalidArgument, "has heads 0 to 3, and head 4 is asked for");
  EXPECT_ERROR(sweep_with(HookPoint::kLogits, {}), kInvalidArgument, "is not made of rows in layers");
  EXPECT_ERROR(patch_sweep(mamba, clean, clean, HookPoint::kAttnZ, {}, metric), kInvalidArgument, "mamba has no");
  EXPECT_ERROR(patch_sweep(model, clean, clean, HookPoint::kResidPre, {}, Metric::logit(500)), kInvalidArgument,
               "token 500 is outside the vocabulary of 192");
  Metric late = metric;
  late.position = 8;
  EXPECT_ERROR(patch_sweep(model, clean, clean, HookPoint::kResidPre, {}, late), kInvalidArgument, "position 8");
  HookSpec spec;
  EXPECT_ERROR(knock_out(spec, mamba, {}, 5), kUnsupported, "mamba models have no attention to cut");
  EXPECT_ERROR(knock_out(spec, model, {{}, {}, {}, {9}}, 5), kInvalidArgument, "head 9 is asked for");
  EXPECT_ERROR(knock_out(spec, model, {{5}, {}, {}, {}}, 5), kInvalidArgument, "position 5 is asked for");
  const PathNode embed{HookPoint::kResidPre, 0, {}}, z{HookPoint::kAttnZ, 0, {}};
  EXPECT_ERROR(path_patch(model, clean, clean, {{embed}}, {{z}}, metric), kInvalidArgument,
               "'blocks.0.hook_resid_pre' does not write to the residual stream");
  EXPECT_ERROR(path_patch(model, clean, clean, {{z}}, {}, metric), kInvalidArgument, "has no receivers");
  EXPECT_ERROR(path_patch_heads(mamba, clean, clean, {{embed}}, metric), kUnsupported, "no attention heads");
  EXPECT_ERROR(AblationValues(model, HookPoint::kAttnPattern, Ablation::kMean, {{clean}}), kInvalidArgument,
               "cannot be ablated by mean");
}

}  // namespace
}  // namespace wick
