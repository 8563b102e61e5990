// Vision towers against PyTorch.
#include <gtest/gtest.h>

#include "models/vision/picture_model.h"
#include "ops/rearrange.h"
#include "ops/view.h"
#include "support/compare.h"
#include "support/errors.h"
#include "support/model_fixtures.h"
#include "support/temp_folder.h"
#include "tensor/create.h"

namespace wick {
namespace {

constexpr double kTolerance = 5e-6;

struct Reference {
  explicit Reference(const std::string& name)
      : values(Checkpoint::open(family_folder(name) / "reference.safetensors")),
        model(PictureModel::load(WeightSource(Checkpoint::open(family_folder(name))))) {}

  Tensor get(const std::string& name) const { return values.get(name); }
  std::vector<std::vector<int32_t>> texts() const {
    const Tensor ids = get("input_ids");
    const std::vector<int32_t> all = ids.to_vector<int32_t>();
    std::vector<std::vector<int32_t>> texts;
    for (int64_t i = 0; i < ids.dim(0); ++i) {
      texts.emplace_back(all.begin() + i * ids.dim(1), all.begin() + (i + 1) * ids.dim(1));
    }
    return texts;
  }
  Checkpoint values;
  std::unique_ptr<PictureModel> model;
};

Tensor picture(const Tensor& pixels, int64_t index) { return narrow(pixels, 0, index, 1).contiguous(); }

TEST(Tower, VitScoresItsLabels) {
  WICK_NEEDS_FIXTURE("vit");
  const Reference reference("vit");
  const Tensor pixels = reference.get("pixel_values"), scores = reference.model->classify(pixels);
  EXPECT_LT(relative_error(scores, reference.get("logits")), kTolerance);
  EXPECT_EQ(reference.model->labels().size(), 11u);
  EXPECT_EQ(reference.model->labels()[10], "LABEL_10");
  expect_identical(reference.model->classify(picture(pixels, 1)), narrow(scores, 0, 1, 1), "the second picture alone");
}

TEST(Tower, ClipComparesPicturesAndTexts) {
  WICK_NEEDS_FIXTURE("clip");
  const Reference reference("clip");
  const Tensor pictures = reference.model->embed(reference.get("pixel_values"));
  const Tensor texts = reference.model->embed_texts(reference.texts());
  EXPECT_LT(relative_error(pictures, reference.get("image_embeds")), kTolerance);
  EXPECT_LT(relative_error(texts, reference.get("text_embeds")), kTolerance);
  const Tensor match = reference.model->match(pictures, texts);
  EXPECT_LT(relative_error(match, reference.get("logits_per_image")), kTolerance);
  const std::vector<float> chances = reference.model->probabilities(match).to_vector<float>();
  EXPECT_NEAR(chances[0] + chances[1] + chances[2], 1, 1e-6);
}

TEST(Tower, SiglipComparesPicturesAndTexts) {
  WICK_NEEDS_FIXTURE("siglip");
  const Reference reference("siglip");
  const Tensor pixels = reference.get("pixel_values");
  const Tensor pictures = reference.model->embed(pixels);
  const Tensor texts = reference.model->embed_texts(reference.texts());
  EXPECT_LT(relative_error(pictures, reference.get("image_embeds")), kTolerance);
  EXPECT_LT(relative_error(texts, reference.get("text_embeds")), kTolerance);
  EXPECT_LT(relative_error(reference.model->match(pictures, texts), reference.get("logits_per_image")), kTolerance);
  expect_identical(reference.model->embed(picture(pixels, 1)), narrow(pictures, 0, 1, 1), "the second picture alone");
}

TEST(Tower, Dinov2TakesAnySize) {
  WICK_NEEDS_FIXTURE("dinov2");
  const Reference reference("dinov2");
  const auto rows = [&](const std::string& pixels) {
    const Tensor x = reference.get(pixels), all = reference.model->rows(x);
    return reshape(all, {x.dim(0), -1, all.dim(1)});
  };
  EXPECT_LT(relative_error(rows("pixel_values"), reference.get("last_hidden_state")), kTolerance);
  EXPECT_LT(relative_error(reference.model->embed(reference.get("pixel_values")), reference.get("pooler_output")),
            kTolerance);
  EXPECT_LT(relative_error(rows("pixel_values_other_size"), reference.get("last_hidden_state_other_size")), kTolerance);
}

TEST(Tower, PicturesOfAnotherKindAreRefused) {
  WICK_NEEDS_FIXTURE("vit");
  const Reference reference("vit");
  expect_error([&] { reference.model->embed(zeros({1, 3, 40, 32})); }, ErrorCode::kInvalidArgument, "32 x 40");
  expect_error([&] { reference.model->embed(zeros({1, 1, 32, 32})); }, ErrorCode::kInvalidArgument, "3 channels");
  expect_error([&] { reference.model->embed(zeros({3, 32, 32})); }, ErrorCode::kInvalidArgument, "[pictures");
  expect_error([&] { reference.model->embed(zeros({1, 3, 4, 4})); }, ErrorCode::kInvalidArgument, "sides of 8");
  expect_error([&] { reference.model->embed_texts({}); }, ErrorCode::kUnsupported, "reads no texts");
}

TEST(Tower, TextsOfAnotherKindAreRefused) {
  WICK_NEEDS_FIXTURE("clip");
  const Reference reference("clip");
  const auto embed = [&](std::vector<int32_t> text) {
    const std::vector<std::vector<int32_t>> texts = {std::move(text)};
    reference.model->embed_texts(texts);
  };
  expect_error([&] { embed({}); }, ErrorCode::kInvalidArgument, "0 tokens");
  expect_error([&] { embed(std::vector<int32_t>(21, 149)); }, ErrorCode::kInvalidArgument, "21 tokens");
  expect_error([&] { embed({150, 149}); }, ErrorCode::kInvalidArgument, "token 150");
  expect_error([&] { embed({5, 6}); }, ErrorCode::kInvalidArgument, "149");
  expect_error([&] { reference.model->classify(zeros({1, 3, 32, 32})); }, ErrorCode::kUnsupported, "no labels");
}

TEST(Tower, SettingsThatContradictTheWeightsAreRefused) {
  WICK_NEEDS_FIXTURE("dinov2");
  const TempFolder folder;
  const auto load = [&](const std::string& from, const std::string& to) {
    copy_model(family_folder("dinov2"), folder.path(), from, to);
    PictureModel::load(WeightSource(Checkpoint::open(folder.path())));
  };
  expect_error([&] { load("\"patch_size\": 8", "\"patch_size\": 0"); }, ErrorCode::kBadFile, "patch_size");
  expect_error([&] { load("\"image_size\": 32", "\"image_size\": 40"); }, ErrorCode::kBadFile, "position");
  expect_error([&] { load("\"num_attention_heads\": 4", "\"num_attention_heads\": 7"); }, ErrorCode::kBadFile,
               "num_attention_heads");
}

}  // namespace
}  // namespace wick
