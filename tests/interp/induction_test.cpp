// A model made by hand to hold one circuit: the tools must find that circuit and nothing else.
#include "support/induction_model.h"

#include <gtest/gtest.h>

#include "interp/ablation.h"
#include "interp/attribution.h"
#include "interp/head_scores.h"
#include "interp/knockout.h"
#include "interp/patching.h"
#include "interp/path_patching.h"
#include "interp/probes/logit_lens.h"
#include "interp/text_measures.h"
#include "ops/ops.h"
#include "support/errors.h"
#include "support/interp_models.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

class InductionTest : public testing::Test {
 protected:
  InductionTest() {
    InductionModel::write(folder_.path());
    model_.emplace(load_model(WeightSource(Checkpoint::open(folder_.path()))));
    const std::vector<int32_t> start = {InductionModel::kStart};
    tokens_ = repeated_tokens(0, 15, 9, 3, start);
    // The second turn up to its fifth token: 15, nine tokens, four tokens again.
    prompt_.assign(tokens_.begin(), tokens_.begin() + 14);
    answer_ = tokens_[5];
    // The same, but something else stood behind the last token the first time.
    other_ = prompt_;
    wrong_ = unused_token();
    other_[5] = wrong_;
  }

  int32_t unused_token() const {
    for (int32_t token = 0; token < 15; ++token) {
      if (std::find(tokens_.begin(), tokens_.end(), token) == tokens_.end()) return token;
    }
    return -1;
  }
  Metric metric() const { return Metric::logit_difference(answer_, wrong_); }

  TempFolder folder_;
  std::optional<LanguageInterp> model_;
  std::vector<int32_t> tokens_, prompt_, other_;
  int32_t answer_ = 0, wrong_ = 0;
};

TEST_F(InductionTest, TheModelRepeatsWhatItHasSeen) {
  const std::vector<int64_t> best = argmax(model_->run(tokens_), -1).to_vector<int64_t>();
  for (size_t i = 10; i + 1 < tokens_.size(); ++i) EXPECT_EQ(best[i], tokens_[i + 1]) << i;
  const std::vector<double> losses = token_losses(*model_, tokens_);
  for (size_t i = 10; i < losses.size(); ++i) EXPECT_LT(losses[i], 0.5 * losses[3]);
}

TEST_F(InductionTest, ScoresNameTheTwoHeads) {
  const HeadScores scores = head_scores(*model_, tokens_);
  const std::vector<float> previous = scores.previous.to_vector<float>(),
                           induction = scores.induction.to_vector<float>();
  EXPECT_GT(previous[0], 0.99);   // head 0.0
  EXPECT_GT(induction[3], 0.99);  // head 1.1
  for (const size_t i : {1, 2, 3}) EXPECT_LT(previous[i], 0.3) << i;
  for (const size_t i : {0, 1, 2}) EXPECT_LT(induction[i], 0.3) << i;
  for (const float score : scores.duplicate.to_vector<float>()) EXPECT_LT(score, 0.3);
}

TEST_F(InductionTest, LensSeesTheAnswerArriveInTheLastLayer) {
  LensOptions options;
  options.positions = {-1};
  options.follow = {answer_};
  const LensMap map = logit_lens(*model_, prompt_, options);
  EXPECT_GT(map.at(1, 0).follow[0].rank, 0);
  EXPECT_EQ(map.at(2, 0).follow[0].rank, 0);
  EXPECT_EQ(map.at(2, 0).top[0].token, answer_);
  EXPECT_GT(map.at(1, 0).kl, 10 * map.at(2, 0).kl);
}

TEST_F(InductionTest, AttributionNamesTheHeadThatAnswers) {
  AttributionOptions options;
  options.by_head = true;
  const Attribution parts = attribute_logit(*model_, prompt_, {answer_, wrong_}, options);
  EXPECT_NEAR(parts.sum(), parts.logit, 1e-4);
  for (const Contribution& part : parts.parts) {
    if (to_string(part) == "head 1.1") {
      EXPECT_NEAR(part.value, parts.logit, 1e-3);
    } else {
      EXPECT_NEAR(part.value, 0, 1e-3) << to_string(part);
    }
  }
}

TEST_F(InductionTest, PatchingFollowsTheAnswerThroughTheModel) {
  const SweepMap map = patch_sweep(*model_, prompt_, other_, HookPoint::kResidPre, {}, metric());
  EXPECT_GT(map.clean, 0);
  EXPECT_LT(map.corrupted, 0);
  // Before both layers the answer lies at its first place; behind them, at the last position.
  for (const size_t layer : {0, 1}) {
    for (size_t position = 0; position < prompt_.size(); ++position) {
      const double restored = map.restored(layer, position);
      if (position == 5) {
        EXPECT_NEAR(restored, 1, 0.05);
      } else {
        EXPECT_NEAR(restored, 0, 0.05) << layer << " " << position;
      }
    }
  }
  SweepCells heads;
  heads.by_head = true;
  heads.by_position = false;
  const SweepMap by_head = patch_sweep(*model_, prompt_, other_, HookPoint::kAttnZ, heads, metric());
  EXPECT_NEAR(by_head.restored(1, 0, 1), 1, 0.05);
  for (const auto& [layer, head] : {std::pair<size_t, size_t>{0, 0}, {0, 1}, {1, 0}}) {
    EXPECT_NEAR(by_head.restored(layer, 0, head), 0, 0.05);
  }
}

TEST_F(InductionTest, SwitchingEitherHeadOffLosesTheAnswer) {
  SweepCells heads;
  heads.by_head = true;
  heads.by_position = false;
  const AblationValues zero(*model_, HookPoint::kAttnZ, Ablation::kZero);
  const SweepMap map = ablation_sweep(*model_, prompt_, zero, heads, metric());
  EXPECT_LT(map.at(0, 0, 0), 0.3 * map.clean);
  EXPECT_LT(map.at(1, 0, 1), 0.3 * map.clean);
  EXPECT_EQ(map.at(0, 0, 1), map.clean);
  EXPECT_EQ(map.at(1, 0, 0), map.clean);
}

TEST_F(InductionTest, KnockOutFindsWhereTheAnswerIsRead) {
  KnockoutSweep cells;
  cells.queries = {-1};
  const SweepMap map = knockout_sweep(*model_, prompt_, cells, metric());
  // Layer 1 reads the answer where it stood; layer 0 reads it nowhere.
  EXPECT_LT(map.at(1, 5), 0.3 * map.clean);
  for (size_t key = 0; key < prompt_.size(); ++key) {
    if (key != 5) {
      EXPECT_GT(map.at(1, key), 0.9 * map.clean) << key;
    }
    EXPECT_GT(map.at(0, key), 0.9 * map.clean) << key;
  }
}

TEST_F(InductionTest, PathsTellKeysFromQueries) {
  // Corrupted where the last token stood first: the token before the answer is then another.
  std::vector<int32_t> corrupted = prompt_;
  corrupted[4] = wrong_;
  const PathNode sender{HookPoint::kAttnZ, 0, {{}, {0}}};
  const auto through = [&](HookPoint point, int head) {
    const PathNode receiver{point, 1, {{}, {head}}};
    return path_patch(*model_, prompt_, corrupted, {{sender}}, {{receiver}}, metric())[0];
  };
  const double clean = patch_sweep(*model_, prompt_, prompt_, HookPoint::kAttnOut, {}, metric()).clean;
  EXPECT_LT(through(HookPoint::kAttnK, 1), 0.3 * clean);
  for (const HookPoint point : {HookPoint::kAttnQ, HookPoint::kAttnV}) EXPECT_GT(through(point, 1), 0.9 * clean);
  EXPECT_GT(through(HookPoint::kAttnK, 0), 0.9 * clean);

  const PathNode keys{HookPoint::kAttnK, 1, {}};
  const SweepMap map = path_patch_heads(*model_, prompt_, corrupted, {{keys}}, metric());
  EXPECT_EQ(map.clean, clean);
  EXPECT_EQ(map.at(0, 0, 0), through(HookPoint::kAttnK, 1));
  for (const auto& [layer, head] : {std::pair<size_t, size_t>{0, 1}, {1, 0}, {1, 1}}) {
    EXPECT_NEAR(map.at(layer, 0, head), clean, 0.01 * clean);
  }
}

TEST(HeadScoresTest, CountsOnlyRowsThatHaveTheToken) {
  const LanguageInterp model = interp_of("gpt2");
  const std::vector<int32_t> tokens = {4, 9, 4, 4, 7, 9};
  HookCache seen;
  HookSpec spec;
  spec.capture("blocks.*.attn.hook_pattern");
  model.run(tokens, spec, LogitRows::kNone, &seen);
  const HeadScores scores = head_scores(model, tokens);
  for (int layer = 0; layer < model.facts().layers; ++layer) {
    const std::vector<float> pattern = seen.at(HookPoint::kAttnPattern, layer).to_vector<float>();
    for (int64_t head = 0; head < model.facts().heads; ++head) {
      const auto at = [&](size_t query, size_t key) {
        return pattern[(static_cast<size_t>(head) * 6 + query) * 6 + key];
      };
      const auto index = static_cast<size_t>(layer * model.facts().heads + head);
      const float previous = (at(1, 0) + at(2, 1) + at(3, 2) + at(4, 3) + at(5, 4)) / 5;
      const float duplicate = (at(2, 0) + at(3, 0) + at(3, 2) + at(5, 1)) / 3;
      // Behind the 4 at 2 stands the 4 at 3 itself, which does not count.
      const float induction = (at(2, 1) + at(3, 1) + at(5, 2)) / 3;
      EXPECT_NEAR(scores.previous.to_vector<float>()[index], previous, 1e-6);
      EXPECT_NEAR(scores.duplicate.to_vector<float>()[index], duplicate, 1e-6);
      EXPECT_NEAR(scores.induction.to_vector<float>()[index], induction, 1e-6);
    }
  }
  EXPECT_ERROR(head_scores(interp_of("rwkv"), tokens), kUnsupported, "rwkv models have no attention heads");
  EXPECT_ERROR(repeated_tokens(0, 8, 9, 1), kInvalidArgument, "9 different tokens");
  EXPECT_EQ(repeated_tokens(3, 90, 20, 7), repeated_tokens(3, 90, 20, 7));
  EXPECT_NE(repeated_tokens(3, 90, 20, 7), repeated_tokens(3, 90, 20, 8));
}

}  // namespace
}  // namespace wick
