// Models with an encoder and a decoder: T5 against PyTorch, BART and those that came of it against plain arithmetic.
#include <gtest/gtest.h>

#include "models/encoder_decoder/encoder_decoder.h"
#include "nn/relative_bias.h"
#include "ops/rearrange.h"
#include "ops/view.h"
#include "support/compare.h"
#include "support/errors.h"
#include "support/model_fixtures.h"
#include "support/reference_models.h"
#include "support/temp_folder.h"
#include "support/tiny_seq2seq.h"

namespace wick {
namespace {

// The logits of a text behind another, in passes of so many tokens.
Tensor read_in_chunks(const TestModel& on, std::span<const int32_t> source, std::span<const int32_t> tokens,
                      size_t chunk, DType dtype = DType::kF32) {
  TestSequence sequence(on);
  sequence.state = on.model->encode_source(source, dtype);
  std::vector<Tensor> parts;
  for (size_t i = 0; i < tokens.size(); i += chunk) {
    parts.push_back(sequence.run(on, tokens.subspan(i, std::min(chunk, tokens.size() - i))));
  }
  return concat(parts, 0);
}

struct T5Reference {
  explicit T5Reference(const std::string& name) : folder(family_folder(name)) {
    values = Checkpoint::open(folder / "reference.safetensors");
    source = values.get("input_ids").to_vector<int32_t>();
    tokens = values.get("decoder_input_ids").to_vector<int32_t>();
    const Tensor all = values.get("logits");
    logits = reshape(all, {all.dim(1), all.dim(2)});
  }
  std::filesystem::path folder;
  Checkpoint values;
  std::vector<int32_t> source, tokens;
  Tensor logits;
};

class T5Test : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { WICK_NEEDS_FIXTURE(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(All, T5Test, testing::Values("t5", "flan-t5"),
                         [](const auto& test) { return test_name(test.param); });

TEST_P(T5Test, LogitsArePyTorchsInAnyChunks) {
  const T5Reference reference(GetParam());
  const TestModel on(reference.folder);
  const Tensor whole = read_in_chunks(on, reference.source, reference.tokens, 8);
  EXPECT_LT(relative_error(whole, reference.logits), 5e-6);
  for (const size_t chunk : {1, 3}) {
    expect_identical(read_in_chunks(on, reference.source, reference.tokens, chunk), whole, cat("chunks of ", chunk));
  }
  EXPECT_LT(relative_error(read_in_chunks(on, reference.source, reference.tokens, 8, DType::kF16), reference.logits),
            5e-3);
}

TEST_P(T5Test, WritesPyTorchsTokens) {
  const T5Reference reference(GetParam());
  const TestModel on(reference.folder);
  TestSequence sequence(on);
  sequence.state = on.model->encode_source(reference.source, DType::kF32);
  std::vector<int32_t> written = {0};
  const std::vector<int32_t> expected = reference.values.get("greedy").to_vector<int32_t>();
  while (written.size() <= expected.size()) {
    const std::vector<float> row = sequence.run(on, std::span(written).last(1)).to_vector<float>();
    written.push_back(static_cast<int32_t>(std::max_element(row.begin(), row.end()) - row.begin()));
  }
  EXPECT_EQ(std::vector<int32_t>(written.begin() + 1, written.end()), expected);
}

// Texts about several sources, two of them about one: each as it is alone.
TEST_P(T5Test, ABatchChangesNoBits) {
  const T5Reference reference(GetParam());
  const TestModel on(reference.folder);
  const std::vector<int32_t> other = some_tokens(33, 5);
  RecurrentState first = on.model->encode_source(reference.source, DType::kF32);
  RecurrentState second = on.model->encode_source(other, DType::kF32);
  const std::vector<int32_t> texts[] = {some_tokens(5, 1), some_tokens(19, 2), some_tokens(7, 3)};
  RecurrentState* states[] = {&first, &first, &second};
  ForwardBatch batch;
  std::vector<std::vector<int32_t>> blocks;
  for (int32_t i = 0; i < 3; ++i) blocks.push_back({2 * i, 2 * i + 1});
  for (size_t i = 0; i < 3; ++i) {
    const auto begin = std::ssize(batch.tokens);
    batch.tokens.insert(batch.tokens.end(), texts[i].begin(), texts[i].end());
    batch.sequences.push_back({std::ssize(texts[i]), 0, blocks[i], states[i]});
    for (int64_t row = begin; row < std::ssize(batch.tokens); ++row) batch.logit_rows.push_back(row);
  }
  const Tensor all = on.model->forward(batch, on.cache);
  int64_t row = 0;
  for (size_t i = 0; i < 3; ++i) {
    const Tensor alone = read_in_chunks(on, i < 2 ? reference.source : other, texts[i], 64);
    expect_identical(narrow(all, 0, row, alone.dim(0)).contiguous(), alone, cat("text ", i));
    row += alone.dim(0);
  }
}

// Each layer of UMT5 has positions of its own, and a head may be one, too.
TEST(EncoderDecoderTest, T5sVariantsAreWhatTheyAreMadeOf) {
  WICK_NEEDS_FIXTURE("t5");
  const T5Reference reference("t5");
  const TestModel plain(reference.folder);
  const Tensor expected = read_in_chunks(plain, reference.source, reference.tokens, 8);
  const Checkpoint file = Checkpoint::open(reference.folder / "model.safetensors");
  const auto make = [&](bool own_bias, bool own_head, double grow) {
    const TempFolder folder;
    std::vector<std::pair<std::string, Tensor>> tensors;
    for (const TensorEntry& entry : file.entries()) {
      const Tensor x = file.get(entry).to_dtype(DType::kF32).contiguous().clone();
      tensors.emplace_back(entry.name, x);
      const size_t layer = entry.name.find("block.0.layer.0.SelfAttention.relative");
      if (own_bias && layer != std::string::npos) {
        std::string name = entry.name;
        name[layer + 6] = '1';
        const Tensor grown = x.clone();
        for (int64_t i = 0; i < grown.numel(); ++i) grown.mutable_data<float>()[i] += static_cast<float>(grow);
        grown.mutable_data<float>()[0] -= static_cast<float>(grow) * 2;
        tensors.emplace_back(name, grown);
      }
      if (own_head && entry.name == "shared.weight") {
        const Tensor head = x.clone();
        for (int64_t i = 0; i < head.numel(); ++i) head.mutable_data<float>()[i] /= 8;  // by the width's root
        tensors.emplace_back("lm_head.weight", head);
      }
    }
    std::ifstream in(reference.folder / "config.json");
    std::string config{std::istreambuf_iterator<char>(in), {}};
    const auto set = [&](const std::string& from, const std::string& to) {
      config.replace(config.find(from), from.size(), to);
    };
    if (own_bias) set(R"("model_type": "t5")", R"("model_type": "umt5")");
    if (own_head) set(R"("tie_word_embeddings": true)", R"("tie_word_embeddings": false)");
    set(R"( "scale_decoder_outputs": true,)", "");  // then the ties say it
    write_checkpoint(folder.path(), config, tensors);
    const TestModel on(folder.path());
    return read_in_chunks(on, reference.source, reference.tokens, 8);
  };
  expect_identical(make(false, false, 0), expected, "as it is");
  expect_identical(make(true, false, 0), expected, "the same positions in each layer");
  expect_identical(make(false, true, 0), expected, "the same head");
  EXPECT_GT(relative_error(make(true, false, 1), expected), 1e-3);
}

struct BartCase {
  const char* family;
  const char* settings;
  bool has_prefix;
};
class BartTest : public testing::TestWithParam<BartCase> {};
INSTANTIATE_TEST_SUITE_P(All, BartTest,
                         testing::Values(BartCase{"bart", "", true}, BartCase{"bart", "", false},
                                         BartCase{"mbart", R"(, "scale_embedding": true)", true},
                                         BartCase{"marian", R"(, "scale_embedding": true)", true},
                                         BartCase{"m2m_100", R"(, "scale_embedding": true)", true},
                                         BartCase{"m2m_100", "", true}, BartCase{"pegasus", "", true}),
                         [](const auto& test) { return cat(test.param.family, test.index); });

TEST_P(BartTest, LogitsAreThoseOfPlainArithmetic) {
  const TinySeq2Seq tiny(GetParam().family, GetParam().settings, GetParam().has_prefix);
  const TempFolder folder;
  tiny.write(folder.path());
  const TestModel on(folder.path());
  EXPECT_EQ(on.model->facts().source_positions, TinySeq2Seq::kPositions);
  for (const size_t length : {1, 17, 20}) {
    const std::vector<int32_t> source = some_tokens(length, 3, TinySeq2Seq::kVocabulary);
    const std::vector<int32_t> tokens = some_tokens(21 - length, 4, TinySeq2Seq::kVocabulary);
    std::vector<float> expected;
    for (const auto& row : tiny.logits(source, tokens)) expected.insert(expected.end(), row.begin(), row.end());
    const Tensor actual = read_in_chunks(on, source, tokens, 4);
    EXPECT_LT(relative_error(actual, from_vector(expected, actual.shape())), 2e-6) << length;
  }
}

TEST(EncoderDecoderTest, WhatDoesNotFitIsRefused) {
  const TempFolder folder;
  const auto load = [&](const TinySeq2Seq& tiny) {
    tiny.write(folder.path());
    return TestModel(folder.path());
  };
  const TestModel on = load(TinySeq2Seq("bart"));
  EXPECT_ERROR(on.model->encode_source(some_tokens(21, 1, 50), DType::kF32), kInvalidArgument,
               "it has 21 tokens, the model takes 20");
  EXPECT_ERROR(on.model->encode_source({}, DType::kF32), kInvalidArgument, "no tokens");
  EXPECT_ERROR(on.model->encode_source(std::vector<int32_t>{50}, DType::kF32), kInvalidArgument, "token 50");
  EXPECT_ERROR(on.model->encode_source(std::vector<int32_t>{5}, DType::kI8), kInvalidArgument, "state in i8");
  TestSequence sequence(on);
  EXPECT_ERROR(sequence.run(on, some_tokens(2, 1, 50)), kInvalidArgument, "has no state");
  TestSequence other(on);
  other.state = on.model->encode_source(some_tokens(3, 1, 50), DType::kF32);
  other.state.tensors.pop_back();
  EXPECT_ERROR(other.run(on, some_tokens(2, 1, 50)), kInvalidArgument, "has 6 tensors, expected 7");

  EXPECT_ERROR(load(TinySeq2Seq("marian", R"(, "share_encoder_decoder_embeddings": false)")), kUnsupported,
               "share_encoder_decoder_embeddings = false");
  EXPECT_ERROR(load(TinySeq2Seq("bart", R"(, "decoder_layers": 3)")), kBadFile, "decoder_layers");
  EXPECT_ERROR(load(TinySeq2Seq("bart", R"(, "tie_word_embeddings": false)")), kBadFile, "lm_head.weight");
  EXPECT_ERROR(load(TinySeq2Seq("blenderbot")), kUnsupported, "'blenderbot' is not supported");
}

TEST(EncoderDecoderTest, RelativePositionsByDistance) {
  const Tensor table = empty({8, 2});
  for (int64_t i = 0; i < 16; ++i) table.mutable_data<float>()[i] = static_cast<float>(i);
  const RelativeBias one_way{table, 20, false};
  const Tensor biases = one_way.by_distance();
  ASSERT_EQ(biases.shape(), Shape({2, 21}));
  for (int64_t head = 0; head < 2; ++head) {
    for (int64_t distance = 0; distance <= 20; ++distance) {
      // Four distances have a bucket each, the others share four by their logarithm.
      const auto further = static_cast<int64_t>(std::log(static_cast<double>(distance) / 4) / std::log(5.0) * 4);
      const int64_t bucket = distance < 4 ? distance : std::min<int64_t>(4 + further, 7);
      EXPECT_EQ(biases.data<float>()[head * 21 + distance], static_cast<float>(2 * bucket + head)) << distance;
    }
  }
}

}  // namespace
}  // namespace wick
