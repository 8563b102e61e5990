// Language models that see, against PyTorch.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "formats/safetensors/safetensors_writer.h"
#include "models/input_embeddings.h"
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
    sequence.add_to(
        batch,
        std::span(tokens).subspan(static_cast<size_t>(sequence.position), static_cast<size_t>(end - sequence.position)),
        true);
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
  // Its reference was computed with a position for each token, as if all were text.
  if (vision.facts().family == "qwen2_5_vl") seen.grid = {};
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
      EXPECT_LT(relative_error(made.deep[static_cast<size_t>(i)], reference.get("visual_2_" + std::to_string(i))),
                5e-6);
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

TEST(Qwen25Vl, VisionLayersAgreeWithPyTorch) {
  WICK_NEEDS_FIXTURE("qwen2_5_vl");
  const SeeingReference reference({"qwen2_5_vl"});
  const TestModel model(family_folder("qwen2_5_vl"));
  const auto& vision = dynamic_cast<const QwenVision&>(*model.model->vision());
  EXPECT_LT(relative_error(vision.run(reference.picture()).last, reference.get("image_features_0")), 5e-6);
  EXPECT_EQ(vision.encode(reference.picture()).grid, (std::array<int64_t, 3>{1, 2, 3}));
}

// Sections one behind the other (Qwen2.5-VL) and interleaved (Qwen3-VL), against the rule written out.
TEST(Rope, TurnsByTimeRowAndColumn) {
  RopeConfig config;
  config.dim = 16;
  config.axes = {2, 3, 3};
  const std::vector<RopePosition> places = {{5, 7, 11}, {3, 3, 3}};
  const std::vector<int64_t> plain = {3};
  for (const bool interleaved : {false, true}) {
    config.axes_interleaved = interleaved;
    const RopeTable table(config, 64);
    const RopeRows rows = table.rows(places);
    constexpr int kAxes[2][8] = {{0, 0, 1, 1, 1, 2, 2, 2}, {0, 1, 2, 0, 1, 2, 0, 1}};
    for (int pair = 0; pair < 8; ++pair) {
      const double angle = static_cast<double>(places[0][static_cast<size_t>(kAxes[interleaved][pair])]) *
                           std::pow(config.theta, -pair / 8.0);
      EXPECT_FLOAT_EQ(rows.cos.data<float>()[pair], static_cast<float>(std::cos(angle))) << pair;
      EXPECT_FLOAT_EQ(rows.sin.data<float>()[pair], static_cast<float>(std::sin(angle))) << pair;
    }
    expect_identical(narrow(rows.cos, 0, 1, 1), table.rows(plain).cos, "a token");
  }
}

TEST(Qwen3Vl, PositionsBehindAPictureGoOnAsInTheReference) {
  WICK_NEEDS_FIXTURE("qwen3_vl");
  const SeeingReference reference({"qwen3_vl", "image_"});
  InputEmbeddings seen;
  seen.position = 5;
  seen.rows = zeros({6, 64});
  seen.grid = {1, 2, 3};
  const std::vector<int64_t> expected = reference.get("image_position_ids").to_vector<int64_t>();
  for (int64_t i = 0; i < 17; ++i) {
    const RopePosition place = rope_position({&seen, 1}, i);
    for (size_t axis = 0; axis < 3; ++axis) EXPECT_EQ(place[axis], expected[axis * 17 + static_cast<size_t>(i)]) << i;
  }
}

// Its released files keep stacked experts as [experts, in, out].
TEST(Qwen3Vl, TransposedExpertsAreTheSame) {
  WICK_NEEDS_FIXTURE("qwen3_vl_moe");
  const std::filesystem::path folder = family_folder("qwen3_vl_moe");
  const Checkpoint stored = Checkpoint::open(folder / "model.safetensors");
  std::vector<NamedTensor> tensors;
  for (const TensorEntry& entry : stored.entries()) {
    const Tensor x = stored.get(entry.name);
    const bool turns = entry.name.find(".mlp.experts.") != std::string::npos;
    tensors.push_back({entry.name, turns ? transpose(x, 1, 2).contiguous() : x});
  }
  const TempFolder copy;
  std::filesystem::copy_file(folder / "config.json", copy.path() / "config.json");
  const std::string bytes = safetensors_bytes(tensors);
  std::ofstream(copy.path() / "model.safetensors", std::ios::binary).write(bytes.data(), std::ssize(bytes));
  const std::vector<int32_t> tokens = some_tokens(9, 1, 180);
  // Rows that lie apart go through other kernels.
  EXPECT_LT(relative_error(read(TestModel(copy.path()), tokens, {}), read(TestModel(folder), tokens, {})), 1e-6);
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
