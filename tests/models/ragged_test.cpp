// A sequence's logits do not depend on what else is in the batch, on chunks or on threads: bit for bit.
#include <gtest/gtest.h>

#include <random>

#include "ops/view.h"
#include "support/compare.h"
#include "support/hybrid_models.h"
#include "support/model_fixtures.h"
#include "tensor/create.h"

namespace wick {
namespace {

struct RaggedCase {
  const char* family;
  const char* quantize;
  DType kv;
};
const RaggedCase kCases[] = {
    {"llama", "auto", DType::kF32},         {"llama", "q8_0", DType::kF16},
    {"llama", "q4_0", DType::kI8},          {"gemma3", "auto", DType::kBF16},
    {"gpt_oss", "auto", DType::kF32},       {"qwen2_moe", "q8_0", DType::kF32},
    {"lfm2", "auto", DType::kF16},          {"falcon", "auto", DType::kF32},
    {"llama3-rope", "q5_1", DType::kF16},   {"mamba2-moe", "auto", DType::kF16},
    {"mamba2-moe", "q8_0", DType::kI8},     {"delta-rule", "auto", DType::kF32},
    {"delta-rule", "auto", DType::kI8},     {"mamba-moe", "auto", DType::kF16},
    {"side-by-side", "auto", DType::kI8},   {"one-part-each", "auto", DType::kF16},
    {"griffin", "auto", DType::kI8},        {"griffin", "q8_0", DType::kF16},
    {"matrix-memory", "auto", DType::kF16}, {"matrix-memory", "q8_0", DType::kF32},
};

class RaggedTest : public testing::TestWithParam<RaggedCase> {};

TEST_P(RaggedTest, RowsAreTheSameInAnyBatch) {
  ModelOptions options;
  options.quantize = GetParam().quantize;
  const TestModel model(model_folder(GetParam().family), options, GetParam().kv, 64);
  constexpr int kSequences = 5;
  std::vector<std::vector<int32_t>> texts;
  std::vector<Tensor> whole;
  for (int i = 0; i < kSequences; ++i) {
    texts.push_back(some_tokens(static_cast<size_t>(3 + 19 * i), static_cast<uint32_t>(i)));
    TestSequence alone(model, i, kSequences);
    whole.push_back(alone.run(model, texts.back()));
  }
  std::mt19937 random(7);
  for (int round = 0; round < 4; ++round) {
    const ThreadCount threads(1 + round % 3);
    std::vector<TestSequence> sequences;
    for (int i = 0; i < kSequences; ++i) sequences.emplace_back(model, (i + round) % kSequences, kSequences);
    bool more = true;
    while (more) {
      ForwardBatch batch;
      struct Part {
        int sequence;
        int64_t first, count, row;
      };
      std::vector<Part> parts;
      std::vector<int> order = {0, 1, 2, 3, 4};
      std::shuffle(order.begin(), order.end(), random);
      for (const int i : order) {
        const auto left = static_cast<int64_t>(texts[i].size()) - sequences[i].position;
        const int64_t count = std::min<int64_t>(left, random() % 4 == 0 ? 0 : 1 + random() % (round == 3 ? 2 : 20));
        if (count == 0) continue;
        parts.push_back({i, sequences[i].position, count, static_cast<int64_t>(batch.logit_rows.size())});
        sequences[i].add_to(batch, std::span(texts[i]).subspan(sequences[i].position, count), true);
      }
      more = false;
      for (int i = 0; i < kSequences; ++i) more |= sequences[i].position < static_cast<int64_t>(texts[i].size());
      if (batch.tokens.empty()) continue;
      const Tensor logits = model.model->forward(batch, model.cache);
      for (const Part& part : parts) {
        expect_identical(narrow(logits, 0, part.row, part.count).contiguous(),
                         narrow(whole[part.sequence], 0, part.first, part.count).contiguous(),
                         cat("sequence ", part.sequence, " from ", part.first));
      }
    }
  }
}

TEST_P(RaggedTest, OnlyTheRowsAskedForAndTheSameOnes) {
  ModelOptions options;
  options.quantize = GetParam().quantize;
  const TestModel model(model_folder(GetParam().family), options, GetParam().kv);
  const std::vector<int32_t> text = some_tokens(21, 3);
  TestSequence all(model), last(model, 20), none(model, 40);
  const Tensor logits = all.run(model, text);
  expect_identical(last.run(model, text, false), narrow(logits, 0, 20, 1).contiguous(), "last row");
  ForwardBatch batch;
  none.add_to(batch, text, true);
  batch.logit_rows.clear();
  EXPECT_EQ(model.model->forward(batch, model.cache).shape(), (Shape{0, 192}));
  // The pass without logits has filled the cache all the same.
  const std::vector<int32_t> next = {5};
  expect_identical(none.run(model, next), all.run(model, next), "next token");
}

INSTANTIATE_TEST_SUITE_P(All, RaggedTest, testing::ValuesIn(kCases), [](const auto& test) {
  std::string name = cat(test.param.family, "_", test.param.quantize, "_", test.param.kv);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(ForwardTest, RefusesWhatDoesNotFit) {
  const TestModel model(family_folder("llama"));
  const auto message = [&](auto change) -> std::string {
    ForwardBatch batch;
    TestSequence sequence(model);
    const std::vector<int32_t> text = some_tokens(5, 1);
    sequence.add_to(batch, text, true);
    change(batch);
    try {
      model.model->forward(batch, model.cache);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message([](ForwardBatch& b) { b.tokens[2] = 192; }), "forward: token 192 is outside the vocabulary of 192");
  EXPECT_EQ(message([](ForwardBatch& b) { b.tokens[2] = -1; }), "forward: token -1 is outside the vocabulary of 192");
  EXPECT_EQ(message([](ForwardBatch& b) { b.tokens.pop_back(); }), "forward: the sequences have 5 tokens, the batch 4");
  EXPECT_EQ(message([](ForwardBatch& b) { b.sequences[0].position = 252; }),
            "forward: sequence 0 reaches position 257, the model's context is 256");
  EXPECT_EQ(message([](ForwardBatch& b) { b.sequences[0].blocks = {}; }),
            "forward: sequence 0 needs 1 blocks and has 0");
  EXPECT_EQ(message([](ForwardBatch& b) { b.logit_rows = {5}; }),
            "forward: logits of row 5 of 5 are asked for after -1");
  EXPECT_EQ(message([](ForwardBatch& b) {
              b.logit_rows = {3, 3};
            }),
            "forward: logits of row 3 of 5 are asked for after 3");
  static const int32_t kFar[] = {64};
  EXPECT_EQ(message([](ForwardBatch& b) { b.sequences[0].blocks = kFar; }),
            "forward: block 64 of sequence 0 is not in the cache");
  EXPECT_EQ(message([](ForwardBatch& b) { b.drawn = zeros({5}, DType::kI32); }),
            "forward: this llama takes no tokens that were drawn on a device");
}

}  // namespace
}  // namespace wick
