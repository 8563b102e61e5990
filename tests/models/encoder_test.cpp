// BERT and its descendants, against PyTorch.
#include <gtest/gtest.h>

#include "hooks/hook_spec.h"
#include "models/encoders/text_encoder.h"
#include "support/compare.h"
#include "support/errors.h"
#include "support/model_fixtures.h"
#include "support/reference_models.h"
#include "tensor/create.h"

namespace wick {
namespace {

struct Reference {
  std::filesystem::path folder;
  Checkpoint values;
  std::vector<std::vector<int32_t>> texts;  // without padding

  explicit Reference(const std::string& name) : folder(family_folder(name)) {
    values = Checkpoint::open(folder / "reference.safetensors");
    const Tensor ids = values.get("input_ids"), mask = values.get("attention_mask");
    for (int64_t row = 0; row < ids.dim(0); ++row) {
      std::vector<int32_t>& text = texts.emplace_back();
      for (int64_t i = 0; i < ids.dim(1); ++i) {
        const int64_t at = row * ids.dim(1) + i;
        if (mask.data<int64_t>()[at]) text.push_back(static_cast<int32_t>(ids.data<int64_t>()[at]));
      }
    }
  }
  // The rows of a tensor [texts, tokens, width] that are not padding.
  Tensor rows(const std::string& name) const {
    const Tensor all = values.get(name);
    std::vector<float> kept;
    const int64_t width = all.dim(2);
    for (size_t text = 0; text < texts.size(); ++text) {
      const float* from = all.data<float>() + static_cast<int64_t>(text) * all.dim(1) * width;
      kept.insert(kept.end(), from, from + std::ssize(texts[text]) * width);
    }
    const auto count = std::ssize(kept) / width;
    return from_vector(kept, {count, width});
  }
  std::vector<EncoderText> batch() const {
    std::vector<EncoderText> batch;
    for (const auto& text : texts) batch.push_back({text});
    return batch;
  }
  std::unique_ptr<TextEncoder> load() const { return TextEncoder::load(WeightSource(Checkpoint::open(folder))); }
};

class EncoderTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { WICK_NEEDS_FIXTURE(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(All, EncoderTest,
                         testing::Values("bert", "distilbert", "roberta", "xlm-roberta", "modernbert"),
                         [](const auto& test) { return test_name(test.param); });

TEST_P(EncoderTest, HiddenStatesArePyTorchs) {
  const Reference reference(GetParam());
  ASSERT_EQ(reference.texts.size(), 2u);
  ASSERT_NE(reference.texts[0].size(), reference.texts[1].size());
  const auto encoder = reference.load();
  EXPECT_LT(relative_error(encoder->encode(reference.batch()), reference.rows("last_hidden_state")), 2e-6);
}

TEST_P(EncoderTest, LayersAreSeenThroughHooks) {
  const Reference reference(GetParam());
  const auto encoder = reference.load();
  HookSpec spec;
  spec.capture("blocks.*.hook_resid_pre");
  spec.capture("ln_final.hook_normalized");
  HookCache cache;
  SequenceHooks hooks{&spec, &cache};
  std::vector<EncoderText> batch = reference.batch();
  batch[1].hooks = &hooks;
  const Tensor plain = encoder->encode(reference.batch()), watched = encoder->encode(batch);
  expect_identical(watched, plain, "watched");
  const auto first = std::ssize(reference.texts[0]), rows = std::ssize(reference.texts[1]);
  for (int64_t layer = 0; layer < encoder->config().layers; ++layer) {
    const Tensor expected = reference.rows(cat("hidden_", layer));
    EXPECT_LT(relative_error(cache.at(cat("blocks.", layer, ".hook_resid_pre")),
                             expected.with_layout(expected.layout().narrow(0, first, rows)).clone()),
              2e-6)
        << layer;
  }
  // An edit changes its own text alone.
  HookSpec edit;
  edit.zero("blocks.0.hook_mlp_out", {{2}, {}});
  hooks = {&edit, nullptr};
  const Tensor edited = encoder->encode(batch);
  const auto part = [&](const Tensor& x, int64_t begin, int64_t count) {
    return x.with_layout(x.layout().narrow(0, begin, count)).clone();
  };
  expect_identical(part(edited, 0, first), part(plain, 0, first), "the other text");
  EXPECT_GT(relative_error(part(edited, first, rows), part(plain, first, rows)), 1e-3);
}

TEST_P(EncoderTest, ATextAloneHasTheBitsItHasInABatch) {
  const Reference reference(GetParam());
  const auto encoder = reference.load();
  std::vector<std::vector<int32_t>> texts;
  for (const int64_t length : {1, 14, 9, 9, 64, 2, 14, 31}) {
    if (length > encoder->config().positions) continue;
    std::vector<int32_t>& text = texts.emplace_back();
    for (int64_t i = 0; i < length; ++i) text.push_back(static_cast<int32_t>((i * 37 + length * 11) % 190 + 3));
  }
  std::vector<EncoderText> batch;
  for (const auto& text : texts) batch.push_back({text});
  const Tensor together = encoder->encode(batch);
  int64_t row = 0;
  for (const EncoderText& text : batch) {
    const Tensor alone = encoder->encode({&text, 1});
    expect_identical(together.with_layout(together.layout().narrow(0, row, alone.dim(0))).clone(), alone, "alone");
    row += alone.dim(0);
  }
}

TEST_P(EncoderTest, ThePoolerIsPyTorchs) {
  const Reference reference(GetParam());
  const auto encoder = reference.load();
  if (!reference.values.find("pooler_output")) {
    EXPECT_FALSE(encoder->has_pooler());
    EXPECT_ERROR(encoder->pool(zeros({1, 64})), kInvalidArgument, "has no pooler");
    return;
  }
  const Tensor hidden = encoder->encode(reference.batch());
  std::vector<float> first;
  for (const int64_t row : {int64_t{0}, static_cast<int64_t>(std::ssize(reference.texts[0]))}) {
    first.insert(first.end(), hidden.data<float>() + row * 64, hidden.data<float>() + (row + 1) * 64);
  }
  EXPECT_LT(relative_error(encoder->pool(from_vector(first, {2, 64})), reference.values.get("pooler_output")), 2e-6);
}

class T5EncoderTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { WICK_NEEDS_FIXTURE(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(All, T5EncoderTest, testing::Values("t5", "flan-t5"),
                         [](const auto& test) { return test_name(test.param); });

TEST_P(T5EncoderTest, HiddenStatesArePyTorchs) {
  const auto folder = family_folder(GetParam());
  const auto encoder = TextEncoder::load(WeightSource(Checkpoint::open(folder)));
  const Checkpoint values = Checkpoint::open(folder / "reference.safetensors");
  const std::vector<int32_t> tokens = values.get("input_ids").to_vector<int32_t>();
  const EncoderText text{tokens};
  const Tensor expected = values.get("encoder_last_hidden_state");
  EXPECT_LT(relative_error(encoder->encode({&text, 1}), expected), 2e-6);
  // Beside another one, the same bits.
  const std::vector<int32_t> other = {5, 6, 7};
  const std::vector<EncoderText> batch = {{other}, {tokens}};
  const Tensor both = encoder->encode(batch), alone = encoder->encode({&text, 1});
  expect_identical(both.with_layout(both.layout().narrow(0, 3, alone.dim(0))).clone(), alone, "alone");
}

TEST(RelativeBiasTest, BucketsGrowWithTheDistance) {
  const RelativeBias both{zeros({16, 1}), 24, true};
  // As transformers' T5Attention._relative_position_bucket gives them for 16 buckets and a distance of 24.
  const std::vector<int64_t> expected = {0, 1, 2, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6, 6, 6, 6, 7, 7};
  for (int64_t distance = 0; distance < std::ssize(expected); ++distance) {
    const int64_t bucket = expected[static_cast<size_t>(distance)];
    EXPECT_EQ(both.bucket(-distance), bucket) << distance;
    EXPECT_EQ(both.bucket(distance), distance == 0 ? 0 : 8 + bucket) << distance;
  }
  EXPECT_EQ(both.bucket(-1000), 7);
  const RelativeBias one{zeros({32, 1}), 128, false};
  EXPECT_EQ(one.bucket(5), 0);
  EXPECT_EQ(one.bucket(-15), 15);
  EXPECT_EQ(one.bucket(-16), 16);
  EXPECT_EQ(one.bucket(-1000), 31);
}

TEST(Encoder, WhatItCannotReadIsTold) {
  WICK_NEEDS_FIXTURE("bert");
  const auto encoder = Reference("bert").load();
  const std::vector<int32_t> none, good = {1, 2}, outside = {1, 200}, below = {-1}, long_one(65, 5), types = {0, 2};
  const auto encode = [&](EncoderText text) { return encoder->encode({&text, 1}); };
  EXPECT_ERROR(encode({none}), kInvalidArgument, "there are no tokens in it");
  EXPECT_ERROR(encode({outside}), kInvalidArgument, "token 200 is not one of the 200 there are");
  EXPECT_ERROR(encode({below}), kInvalidArgument, "token -1");
  EXPECT_ERROR(encode({long_one}), kInvalidArgument, "it has 65 tokens, the model takes 64");
  EXPECT_ERROR(encode({good, types}), kInvalidArgument, "type 2 is not one of the 2 there are");
  EXPECT_ERROR(encode({good, below}), kInvalidArgument, "2 tokens and 1 types");
  const std::vector<EncoderText> batch = {{good}, {outside}};
  EXPECT_ERROR(encoder->encode(batch), kInvalidArgument, "text 1: token 200");
}

}  // namespace
}  // namespace wick
