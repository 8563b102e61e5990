// Steering vectors and probes.
#include "interp/steering.h"

#include <gtest/gtest.h>

#include "formats/safetensors/safetensors_writer.h"
#include "interp/probes/linear_probe.h"
#include "interp/run_with_cache.h"
#include "ops/ops.h"
#include "support/compare.h"
#include "support/errors.h"
#include "support/interp_models.h"
#include "support/temp_folder.h"
#include "tensor/create.h"

namespace wick {
namespace {

std::vector<std::vector<int32_t>> texts_ending_in(int32_t token, size_t count, uint32_t seed) {
  std::vector<std::vector<int32_t>> texts;
  for (size_t i = 0; i < count; ++i) {
    texts.push_back(some_tokens(4 + i % 3, seed + static_cast<uint32_t>(i)));
    texts.back().push_back(token);
  }
  return texts;
}

class SteeringFamilyTest : public testing::TestWithParam<std::string> {};

TEST_P(SteeringFamilyTest, VectorIsTheDifferenceOfMeans) {
  const LanguageInterp model = interp_of(GetParam());
  const auto up = texts_ending_in(20, 5, 1), down = texts_ending_in(90, 3, 70);
  for (const TextRow row : {TextRow::kLast, TextRow::kMean}) {
    const SteeringVector vector = steering_vector(model, up, down, "blocks.1.hook_resid_pre", row);
    const auto mean_of = [&](const std::vector<std::vector<int32_t>>& texts) {
      Tensor sum = zeros({64});
      for (const std::vector<int32_t>& text : texts) {
        CaptureOptions capture;
        capture.points = {"blocks.1.hook_resid_pre"};
        const Tensor rows = run_with_cache(model, text, capture).cache.at(capture.points[0]);
        const Tensor one = row == TextRow::kLast ? reshape(narrow(rows, 0, rows.dim(0) - 1, 1), {64}) : mean(rows, {0});
        sum = add(sum, one);
      }
      return div(sum, static_cast<double>(texts.size()));
    };
    expect_close(vector.vector, sub(mean_of(up), mean_of(down)), 1e-5, "vector");
    EXPECT_EQ(vector.family, model.facts().family);
  }
}

TEST_P(SteeringFamilyTest, SteeringMovesTheAnswerWhereTheVectorPoints) {
  const LanguageInterp model = interp_of(GetParam());
  const auto up = texts_ending_in(20, 8, 1), down = texts_ending_in(90, 8, 1);
  const std::string point = hook_name(HookPoint::kResidPost, model.facts().layers - 1);
  const SteeringVector vector = steering_vector(model, up, down, point);
  const std::vector<int32_t> tokens = some_tokens(7, 99);
  // Steered far enough, the last layer's row points along the vector, and so does the answer.
  HookSpec spec;
  vector.apply(spec, 1e4f);
  const Tensor steered = model.run(tokens, spec, LogitRows::kLast);
  const Tensor along = model.project_to_vocab(reshape(vector.vector, {1, 64}));
  EXPECT_LE(relative_error(steered, along), 5e-3);
  // Nothing at strength 0, the opposite below it, and only where it is asked for.
  HookSpec none, back, early;
  vector.apply(none, 0);
  vector.apply(back, -1e4f);
  vector.apply(early, 3, {2});
  expect_identical(model.run(tokens, none), model.run(tokens), "strength 0");
  EXPECT_LE(relative_error(model.run(tokens, back, LogitRows::kLast),
                           model.project_to_vocab(reshape(neg(vector.vector), {1, 64}))),
            5e-3);
  const Tensor plain = model.run(tokens), changed = model.run(tokens, early);
  expect_identical(narrow(changed, 0, 0, 2).contiguous(), narrow(plain, 0, 0, 2).contiguous(), "rows before");
  EXPECT_GT(relative_error(narrow(changed, 0, 2, 1), narrow(plain, 0, 2, 1)), 1e-3);
}

INSTANTIATE_TEST_SUITE_P(All, SteeringFamilyTest,
                         testing::Values("llama", "qwen3", "gpt2", "gemma2", "mixtral", "mamba", "rwkv"),
                         [](const auto& test) { return test_name(test.param); });

TEST(SteeringTest, FilesAreReadBackAndChecked) {
  const TempFolder temp;
  const auto path = temp.path() / "vector.safetensors";
  const SteeringVector vector{"blocks.1.hook_resid_post", randn({64}, 3), "qwen3", "polite"};
  vector.save(path);
  const SteeringVector back = SteeringVector::load(path);
  EXPECT_EQ(back.point, vector.point);
  EXPECT_EQ(back.family, "qwen3");
  EXPECT_EQ(back.label, "polite");
  expect_identical(back.vector, vector.vector, "vector");
  EXPECT_NEAR(back.length(), std::sqrt(sum(sqr(vector.vector)).item()), 1e-4);

  const auto write = [&](const std::string& point, const Tensor& tensor) {
    Metadata metadata;
    if (!point.empty()) metadata.set_text("wick.point", point);
    SafetensorsWriter writer(path, {{"vector", tensor.dtype(), tensor.shape()}}, metadata);
    writer.write("vector", tensor);
    writer.finish();
    return SteeringVector::load(path);
  };
  EXPECT_ERROR(write("", zeros({4})), kBadFile, "holds no steering vector with its point");
  EXPECT_ERROR(write("blocks.x.hook_embed", zeros({4})), kBadFile, "is no hook");
  EXPECT_ERROR(write("blocks.*.hook_resid_pre", zeros({4})), kBadFile, "is no layer");
  EXPECT_ERROR(write("hook_embed", zeros({4, 2})), kBadFile, "'vector' is F32 [4, 2]");
  EXPECT_ERROR(write("hook_embed", zeros({4}, DType::kI32)), kBadFile, "expected numbers in one row");
  EXPECT_ERROR(write("hook_embed", full({4}, NAN)), kBadFile, "not finite");

  const LanguageInterp model = interp_of("qwen3");
  check_steering(model, vector);
  EXPECT_ERROR(check_steering(model, {"blocks.2.hook_resid_post", zeros({64}), "", ""}), kInvalidArgument, "layer 2");
  EXPECT_ERROR(check_steering(model, {"blocks.0.hook_resid_post", zeros({65}), "", ""}), kInvalidArgument,
               "has 65 values, this qwen3 has a hidden size of 64");
  HookSpec spec;
  EXPECT_ERROR(vector.apply(spec, INFINITY), kInvalidArgument, "a strength of inf");
  const std::vector<std::vector<int32_t>> some = {some_tokens(3, 1)}, none;
  EXPECT_ERROR(steering_vector(model, some, none, "hook_embed"), kInvalidArgument, "there are no texts");
  EXPECT_ERROR(steering_vector(model, some, some, "blocks.*.hook_resid_pre"), kInvalidArgument, "of one layer");
  EXPECT_ERROR(steering_vector(model, some, some, "blocks.0.attn.hook_pattern"), kInvalidArgument, "one row per token");
}

// Two clouds of points around opposite means.
struct Clouds {
  Tensor rows;
  std::vector<int64_t> labels;

  explicit Clouds(int64_t count, double distance) {
    rows = randn({count, 33}, 5).clone();
    const std::vector<float> direction = randn({33}, 6).to_vector<float>();
    for (int64_t i = 0; i < count; ++i) {
      labels.push_back(i * 7 % 3 == 0);
      for (int64_t j = 0; j < 33; ++j) {
        float& x = rows.mutable_data<float>()[i * 33 + j];
        x += static_cast<float>((labels.back() ? distance : -distance) * direction[static_cast<size_t>(j)]);
        x = x * (j == 4 ? 1000.f : 0.01f) + 7;  // columns of very different size
      }
    }
  }
};

TEST(ProbeTest, LearnsWhatCanBeReadAndNothingElse) {
  const Clouds clouds(240, 1);
  ProbeReport report;
  const LinearProbe probe = LinearProbe::train(clouds.rows, clouds.labels, 2, {}, &report);
  EXPECT_EQ(report.test_rows, 60);
  EXPECT_EQ(report.train_rows, 180);
  EXPECT_EQ(report.train_accuracy, 1);
  EXPECT_EQ(report.test_accuracy, 1);
  EXPECT_LT(report.train_loss, 0.05);
  EXPECT_EQ(probe.classify(clouds.rows), clouds.labels);

  // Labels that have nothing to do with the rows can be learned by heart, not understood.
  std::vector<int64_t> random;
  for (const float x : rand({240}, 9).to_vector<float>()) random.push_back(x < 0.5f);
  LinearProbe::train(clouds.rows, random, 2, {}, &report);
  EXPECT_LT(report.test_accuracy, 0.7);
  EXPECT_GT(report.test_accuracy, 0.3);
}

TEST(ProbeTest, ReadsTheLastTokenOffHiddenStates) {
  const LanguageInterp model = interp_of("qwen3");
  std::vector<std::vector<int32_t>> texts;
  std::vector<int64_t> labels;
  for (const auto& [token, label] : {std::pair<int32_t, int64_t>{3, 0}, {50, 1}, {120, 2}}) {
    for (auto& text : texts_ending_in(token, 20, static_cast<uint32_t>(token) * 100)) {
      texts.push_back(std::move(text));
      labels.push_back(label);
    }
  }
  ProbeReport report;
  const Tensor rows = text_rows(model, texts, "blocks.1.hook_resid_pre");
  ASSERT_EQ(rows.shape(), Shape({60, 64}));
  LinearProbe probe = LinearProbe::train(rows, labels, 3, {}, &report);
  EXPECT_GT(report.test_accuracy, 0.85);  // by chance: a third
  probe.point = "blocks.1.hook_resid_pre";
  const TempFolder temp;
  probe.save(temp.path() / "old.safetensors");
  EXPECT_FALSE(LinearProbe::load(temp.path() / "old.safetensors").row) << "files did not always say it";
  probe.row = TextRow::kMean;
  probe.save(temp.path() / "probe.safetensors");
  const LinearProbe back = LinearProbe::load(temp.path() / "probe.safetensors");
  EXPECT_EQ(back.point, probe.point);
  EXPECT_EQ(back.row, TextRow::kMean);
  EXPECT_EQ(back.classes(), 3);
  expect_identical(back.probabilities(rows), probe.probabilities(rows), "probabilities");
  const Tensor shares = sum(back.probabilities(rows), {1});
  expect_close(shares, ones({60}), 1e-5, "shares add up");
}

TEST(TextRowsTest, AreTheLastRowsOrTheMeansOfACapture) {
  const LanguageInterp model = interp_of("qwen3");
  std::vector<std::vector<int32_t>> texts;
  for (int32_t length = 1; length <= 35; ++length) {
    texts.emplace_back();
    for (int32_t i = 0; i < length; ++i) texts.back().push_back((length * 7 + i * i) % 190);
  }
  const std::vector<std::string> points = {"blocks.1.hook_resid_post", "hook_embed", "blocks.0.attn.hook_z"};
  const std::vector<Tensor> last = text_rows(model, texts, points, TextRow::kLast);
  int64_t reports = 0;
  const std::vector<Tensor> mean = text_rows(model, texts, points, TextRow::kMean, [&](int64_t done, int64_t total) {
    EXPECT_LT(done, total);
    EXPECT_EQ(total, 35);
    ++reports;
  });
  EXPECT_GT(reports, 1);
  CaptureOptions capture;
  capture.points = points;
  for (const size_t text : {0u, 16u, 34u}) {
    const ActivationCache cache = run_with_cache(model, texts[text], capture).cache;
    for (size_t point = 0; point < points.size(); ++point) {
      const Tensor& values = cache.at(points[point]);
      const int64_t width = values.numel() / values.dim(0);
      const std::vector<float> all = values.to_vector<float>(), lasts = last[point].to_vector<float>(),
                               means = mean[point].to_vector<float>();
      ASSERT_EQ(last[point].shape(), Shape({35, width}));
      for (int64_t i = 0; i < width; ++i) {
        double sum = 0;
        for (int64_t row = 0; row < values.dim(0); ++row) sum += all[static_cast<size_t>(row * width + i)];
        const auto at = static_cast<size_t>(static_cast<int64_t>(text) * width + i);
        EXPECT_EQ(lasts[at], all[static_cast<size_t>((values.dim(0) - 1) * width + i)]);
        EXPECT_FLOAT_EQ(means[at], static_cast<float>(sum / static_cast<double>(values.dim(0))));
      }
    }
  }
  EXPECT_ERROR(text_rows(model, texts, "blocks.0.mlp.hook_expert_weights"), kInvalidArgument,
               "this qwen3 has no 'blocks.0.mlp.hook_expert_weights'");
}

TEST(ProbeTest, MistakesGetASentence) {
  const Tensor rows = randn({6, 4}, 1);
  const std::vector<int64_t> labels = {0, 1, 0, 1, 0, 1}, few = {0, 1}, outside = {0, 1, 2, 0, 1, 0};
  EXPECT_ERROR(LinearProbe::train(rows, few, 2), kInvalidArgument, "the rows are [6, 4] for 2 labels");
  EXPECT_ERROR(LinearProbe::train(rows, labels, 1), kInvalidArgument, "1 classes");
  EXPECT_ERROR(LinearProbe::train(rows, outside, 2), kInvalidArgument, "label 2 is outside 0 to 1");
  EXPECT_ERROR(LinearProbe::train(full({6, 4}, NAN), labels, 2), kInvalidArgument, "not finite");
  EXPECT_ERROR(LinearProbe::train(rows, labels, 2, {.steps = 0}), kInvalidArgument, "0 steps");
  EXPECT_ERROR(LinearProbe::train(rows, labels, 2, {.test_share = 1}), kInvalidArgument, "a test share of 1");
  EXPECT_ERROR(LinearProbe::train(rows, labels, 2).classify(randn({2, 5}, 1)), kInvalidArgument, "expected [n, 4]");
  const TempFolder temp;
  const auto path = temp.path() / "x.safetensors";
  Metadata metadata;
  metadata.set_text("wick.row", "first");
  SafetensorsWriter odd(path, {{"weight", DType::kF32, {2, 4}}, {"bias", DType::kF32, {2}}}, metadata);
  odd.write("weight", zeros({2, 4}));
  odd.write("bias", zeros({2}));
  odd.finish();
  EXPECT_ERROR(LinearProbe::load(path), kBadFile, "wick.row is 'first', expected last or mean");
  SafetensorsWriter writer(path, {{"weight", DType::kF32, {2, 4}}, {"bias", DType::kF32, {3}}});
  writer.write("weight", zeros({2, 4}));
  writer.write("bias", zeros({3}));
  writer.finish();
  EXPECT_ERROR(LinearProbe::load(path), kBadFile, "'weight' is [2, 4] and 'bias' [3]");
}

}  // namespace
}  // namespace wick
