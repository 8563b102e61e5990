// Language models that see, against PyTorch.
#include <gtest/gtest.h>

#include "models/vision/projected_vision.h"
#include "models/vision/qwen_vision.h"
#include "ops/rearrange.h"
#include "ops/reduction.h"
#include "support/compare.h"
#include "support/errors.h"
#include "support/temp_folder.h"
#include "support/test_sequence.h"
#include "tensor/create.h"
#include "vision/seeing_models.h"

namespace wick {
namespace {

class SeeingTest : public testing::TestWithParam<SeeingModel> {
 protected:
  void SetUp() override { WICK_NEEDS_FIXTURE(GetParam().folder); }
};

// Chunks of a prompt, with logits of all rows.
Tensor read(const TestModel& on, const std::vector<int32_t>& tokens, std::span<const InputEmbeddings> seen,
            std::vector<int64_t> cuts = {}) {
  TestSequence sequence(on);
  std::vector<Tensor> logits;
  cuts.push_back(std::ssize(tokens));
  for (const int64_t end : cuts) {
    ForwardBatch batch;
    sequence.add_to(batch, std::span(tokens).subspan(static_cast<size_t>(sequence.position),
                                                     static_cast<size_t>(end - sequence.position)), true);
    batch.sequences.back().embeddings = seen;
    logits.push_back(on.model->forward(batch, on.cache));
  }
  return concat(logits, 0);
}

TEST_P(SeeingTest, AgreesWithPyTorch) {
  const SeeingReference reference(GetParam());
  const TestModel model(family_folder(GetParam().folder));
  ASSERT_NE(model.model->vision(), nullptr);
  const VisionEncoder& vision = *model.model->vision();
  const std::vector<int32_t> tokens = reference.tokens();
  InputEmbeddings seen = vision.encode(reference.picture());
  EXPECT_EQ(seen.rows.dim(0), vision.rows_of(reference.picture()));
  EXPECT_EQ(seen.rows.dim(0), std::count(tokens.begin(), tokens.end(), vision.facts().tokens.picture));
  seen.position = place_of(tokens, vision.facts().tokens.picture);
  const Tensor logits = read(model, tokens, {&seen, 1});
  EXPECT_LT(relative_error(logits, reference.logits()), GetParam().tolerance);
  EXPECT_EQ(argmax(logits, -1).to_vector<int64_t>(), argmax(reference.logits(), -1).to_vector<int64_t>());

  // However the prompt is cut, the bits are the same.
  const bool is_whole = seen.is_whole;
  const std::vector<int64_t> cuts = is_whole ? std::vector<int64_t>{3, 9} : std::vector<int64_t>{3, 6, 7};
  expect_identical(read(model, tokens, {&seen, 1}, cuts), logits, "in chunks");
  if (is_whole) {
    expect_error([&] { read(model, tokens, {&seen, 1}, {6}); }, ErrorCode::kInvalidArgument, "see each other");
  }
}

TEST_P(SeeingTest, PicturesThatDoNotFitAreRefused) {
  const SeeingReference reference(GetParam());
  const TestModel model(family_folder(GetParam().folder));
  const VisionEncoder& vision = *model.model->vision();
  const VisionInput good = reference.picture();
  VisionInput input = good;
  input.values = {};
  expect_error([&] { vision.encode(input); }, ErrorCode::kInvalidArgument, "undefined");
  input.values = zeros({3, 4, 5});
  expect_error([&] { vision.encode(input); }, ErrorCode::kInvalidArgument, "[3, 4, 5]");
  input = good;
  if (vision.facts().takes_patches) {
    input.rows += 1;
    expect_error([&] { vision.encode(input); }, ErrorCode::kInvalidArgument, "patches");
    input = good;
    input.rows = -1;
    expect_error([&] { vision.rows_of(input); }, ErrorCode::kInvalidArgument, "patches");
    input.rows = int64_t{1} << 40;
    input.columns = int64_t{1} << 40;
    expect_error([&] { vision.rows_of(input); }, ErrorCode::kInvalidArgument, "patches");
    const int64_t join = vision.facts().join;
    input = {zeros({join + 1, vision.facts().values}), 1, 1, join + 1};
    expect_error([&] { vision.rows_of(input); }, ErrorCode::kInvalidArgument, "multiples");
  } else {
    input.values = zeros({1, 3, 24, 32});
    expect_error([&] { vision.encode(input); }, ErrorCode::kInvalidArgument, "24, 32");
  }
}

INSTANTIATE_TEST_SUITE_P(Models, SeeingTest, testing::ValuesIn(kSeeingModels), [](const auto& test) {
  std::string name = test.param.folder;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(Qwen3Vl, VisionLayersAgreeWithPyTorch) {
  for (const char* folder : {"qwen3_vl", "qwen3_vl_moe"}) {
    WICK_NEEDS_FIXTURE(folder);
    SCOPED_TRACE(folder);
    const SeeingReference reference({folder, "image_"});
    const TestModel model(family_folder(folder));
    const auto& vision = dynamic_cast<const QwenVision&>(*model.model->vision());
    const QwenVision::Layers made = vision.run(reference.picture());
    EXPECT_LT(relative_error(made.last, reference.get("visual_0")), 5e-6);
    EXPECT_LT(relative_error(made.rows, reference.get("visual_1")), 5e-6);
    ASSERT_EQ(made.deep.size(), 3u);
    for (int i = 0; i < 3; ++i) {
      EXPECT_LT(relative_error(made.deep[static_cast<size_t>(i)], reference.get("visual_2_" + std::to_string(i))), 5e-6);
    }
  }
}

TEST(Qwen3Vl, FramesOfAVideoAgreeWithPyTorch) {
  for (const char* folder : {"qwen3_vl", "qwen3_vl_moe"}) {
    WICK_NEEDS_FIXTURE(folder);
    SCOPED_TRACE(folder);
    const SeeingReference reference({folder, "video_"});
    const TestModel model(family_folder(folder));
    const VisionEncoder& vision = *model.model->vision();
    const std::vector<int32_t> tokens = reference.tokens();
    const std::vector<int64_t> grid = reference.get("video_grid_thw").to_vector<int64_t>();
    const Tensor patches = reference.get("video_pixel_values");
    const int64_t each = grid[1] * grid[2];
    std::vector<InputEmbeddings> seen;
    int64_t from = 0;
    for (int64_t frame = 0; frame < grid[0]; ++frame) {
      seen.push_back(vision.encode({narrow(patches, 0, frame * each, each).contiguous(), 1, grid[1], grid[2]}));
      seen.back().position = place_of(tokens, *vision.facts().tokens.video, from);
      from = seen.back().position + seen.back().rows.dim(0);
    }
    const Tensor logits = read(model, tokens, seen);
    EXPECT_LT(relative_error(logits, reference.logits()), 5e-6);
    expect_identical(read(model, tokens, seen, {2, 7, 12, 15}), logits, "in chunks");
  }
}

TEST(Qwen3Vl, WhatStandsInGridsMustFit) {
  WICK_NEEDS_FIXTURE("qwen3_vl");
  const SeeingReference reference({"qwen3_vl", "image_"});
  const TestModel model(family_folder("qwen3_vl"));
  InputEmbeddings seen = model.model->vision()->encode(reference.picture());
  seen.position = 5;
  const auto refused = [&](const InputEmbeddings& wrong, std::string_view part) {
    expect_error([&] { read(model, reference.tokens(), {&wrong, 1}); }, ErrorCode::kInvalidArgument, part);
  };
  InputEmbeddings wrong = seen;
  wrong.grid = {1, 2, 4};
  refused(wrong, "1 x 2 x 4");
  wrong.grid = {-1, -2, 3};
  refused(wrong, "-1 x -2 x 3");
  wrong = seen;
  wrong.deep[1] = zeros({6, 63});
  refused(wrong, "[6, 63]");
  wrong = seen;
  for (int i = 0; i < 2; ++i) wrong.deep.push_back(wrong.deep.front());
  refused(wrong, "5 more for layers");
}

}  // namespace
}  // namespace wick
