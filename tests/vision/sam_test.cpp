// Segment Anything against PyTorch.
#include <gtest/gtest.h>

#include "models/vision/sam.h"
#include "support/errors.h"
#include "support/model_fixtures.h"
#include "tensor/create.h"

namespace wick {
namespace {

class SamTest : public testing::Test {
 protected:
  void SetUp() override {
    WICK_NEEDS_FIXTURE("sam");
    values = Checkpoint::open(family_folder("sam") / "reference.safetensors");
    model = Sam::load(WeightSource(Checkpoint::open(family_folder("sam"))));
  }
  Checkpoint values;
  std::unique_ptr<Sam> model;
};

TEST_F(SamTest, AgreesWithPyTorch) {
  const Tensor encoded = model->encode(values.get("pixel_values"));
  EXPECT_LT(relative_error(encoded, values.get("image_embeddings")), 5e-6);
  const std::vector<float> points = values.get("input_points").to_vector<float>();
  const std::vector<int64_t> labels = values.get("input_labels").to_vector<int64_t>();
  SamPrompt prompt;
  for (size_t i = 0; i < labels.size(); ++i)
    prompt.points.push_back({points[2 * i], points[2 * i + 1], labels[i] == 1});
  const Sam::Masks masks = model->segment(encoded, prompt);
  EXPECT_LT(relative_error(masks.scores, values.get("pred_masks")), 5e-6);
  EXPECT_LT(relative_error(masks.ious, values.get("iou_scores")), 5e-6);
}

TEST_F(SamTest, PromptsAndPicturesOfAnotherKindAreRefused) {
  expect_error([&] { model->encode(zeros({1, 3, 64, 32})); }, ErrorCode::kInvalidArgument, "[1, 3, 64, 64]");
  const Tensor encoded = model->encode(zeros({1, 3, 64, 64}));
  expect_error([&] { model->segment(encoded, {}); }, ErrorCode::kInvalidArgument, "0 points and boxes");
  SamPrompt many;
  many.points.resize(2000);
  expect_error([&] { model->segment(encoded, many); }, ErrorCode::kInvalidArgument, "2000");
  SamPrompt box;
  box.boxes.push_back({1, 2, 30, 40});
  EXPECT_EQ(model->segment(encoded, box).scores.shape(), (Shape{3, 32, 32}));
  expect_error([&] { model->segment(zeros({16, 4, 8}), box); }, ErrorCode::kInvalidArgument, "[16, 8, 8]");
}

}  // namespace
}  // namespace wick
