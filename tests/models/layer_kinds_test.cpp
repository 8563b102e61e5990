// What some layers do differently, on a reference of each: bits that depend on the text alone, and what is seen.
#include <gtest/gtest.h>

#include <cstring>

#include "ops/view.h"
#include "support/compare.h"
#include "support/errors.h"
#include "support/model_fixtures.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

struct LayerCase {
  const char* name;
  const char* folder;
  const char *from = "", *to = "";  // of config.json
  const char *also_from = "", *also_to = "";

  friend std::ostream& operator<<(std::ostream& out, const LayerCase& each) { return out << each.name; }
};
const LayerCase kLayerCases[] = {
    {"AltUp", "gemma3n"},
    {"OwnInputs", "gemma4"},
    {"SharedKeys", "gemma4", "\"num_kv_shared_layers\": 0", "\"num_kv_shared_layers\": 2"},
    {"Chunks", "llama4", "\"attention_chunk_size\": 8192", "\"attention_chunk_size\": 23"},
    {"GrowingQueries", "llama4", "\"floor_scale\": 8192", "\"floor_scale\": 8", "[\n  1,\n  1\n ]", "[1, 0]"},
    {"TwoScaledExperts", "llama4", "\"num_experts_per_tok\": 1", "\"num_experts_per_tok\": 2"},
    {"Difference", "diffllama"},
};

class LayerKindTest : public testing::TestWithParam<LayerCase> {
 protected:
  void SetUp() override {
    WICK_NEEDS_FIXTURE(GetParam().folder);
    copy_model(family_folder(GetParam().folder), copy_.path() / "first", GetParam().from, GetParam().to);
    copy_model(copy_.path() / "first", copy_.path() / "model", GetParam().also_from, GetParam().also_to);
  }
  TempFolder copy_;
};

// Whole, in chunks, behind the blocks of another text that began alike, beside another text, on other threads.
TEST_P(LayerKindTest, ARowDependsOnItsTextAlone) {
  for (const DType kv : {DType::kF32, DType::kF16, DType::kI8}) {
    const TestModel model(copy_.path() / "model", {}, kv);
    const std::vector<int32_t> text = some_tokens(61, 1), other = some_tokens(61, 2);
    const Tensor expected = TestSequence(model, 48).run(model, text);
    constexpr int64_t kKept = 2 * kKvBlockTokens;
    TestSequence first(model);
    first.run(model, std::span(text).first(kKept));
    first.run(model, std::span(other).subspan(kKept));
    for (const int64_t chunk : {1, 7, 40}) {
      const ThreadCount threads(1 + static_cast<int>(chunk % 3));
      TestSequence next(model, 16), beside(model, 32);
      std::copy_n(first.blocks.begin(), kKept / kKvBlockTokens, next.blocks.begin());
      next.position = kKept;
      while (next.position < std::ssize(text)) {
        const int64_t from = next.position, count = std::min(chunk, std::ssize(text) - from);
        ForwardBatch batch;
        const int64_t others = std::min<int64_t>(3, std::ssize(other) - beside.position);
        if (others > 0) {
          beside.add_to(batch, std::span(other).subspan(static_cast<size_t>(beside.position), others), false);
        }
        const auto before = static_cast<int64_t>(batch.logit_rows.size());
        next.add_to(batch, std::span(text).subspan(static_cast<size_t>(from), static_cast<size_t>(count)), true);
        const Tensor logits = model.model->forward(batch, model.cache);
        expect_identical(narrow(logits, 0, before, count).contiguous(), narrow(expected, 0, from, count).contiguous(),
                         cat(to_string(kv), " from ", from, " by ", chunk));
      }
    }
    // Only the last row's logits: the last layer then computes no others.
    TestSequence last(model, 16);
    const Tensor end = last.run(model, text, false);
    expect_identical(end, narrow(expected, 0, std::ssize(text) - 1, 1).contiguous(), "the last row alone");
  }
}

INSTANTIATE_TEST_SUITE_P(All, LayerKindTest, testing::ValuesIn(kLayerCases),
                         [](const auto& test) { return std::string(test.param.name); });

class ChunkTest : public testing::Test {
 protected:
  static constexpr int64_t kChunk = 23;
  void SetUp() override {
    WICK_NEEDS_FIXTURE("llama4");
    copy_model(family_folder("llama4"), copy_.path() / "model", "\"attention_chunk_size\": 8192",
               cat("\"attention_chunk_size\": ", kChunk));
  }
  TempFolder copy_;
};

TEST_F(ChunkTest, RowsSeeTheirOwnChunk) {
  const TestModel model(copy_.path() / "model");
  EXPECT_EQ(model.model->facts().window, kChunk);  // blocks that lie so far back may be given up
  const std::vector<int32_t> text = some_tokens(60, 1);
  std::vector<int32_t> other = text;
  for (int i = 0; i < kChunk; ++i) other[static_cast<size_t>(i)] = (text[static_cast<size_t>(i)] + 1) % 192;
  const Tensor a = TestSequence(model).run(model, text), b = TestSequence(model, 20).run(model, other);
  expect_identical(narrow(a, 0, kChunk, 60 - kChunk).contiguous(), narrow(b, 0, kChunk, 60 - kChunk).contiguous(),
                   "later chunks");
  EXPECT_GT(relative_error(narrow(a, 0, 0, kChunk), narrow(b, 0, 0, kChunk)), 1e-2);
  // Within the first chunk it is the model as it was.
  const TestModel whole(family_folder("llama4"));
  const Tensor unchunked = TestSequence(whole).run(whole, text);
  expect_identical(narrow(a, 0, 0, kChunk).contiguous(), narrow(unchunked, 0, 0, kChunk).contiguous(), "first chunk");
  EXPECT_GT(relative_error(narrow(a, 0, kChunk, 10), narrow(unchunked, 0, kChunk, 10)), 1e-3);
}

TEST_F(ChunkTest, BlocksBeforeTheChunkMayBeGivenUp) {
  const TestModel model(copy_.path() / "model");
  const std::vector<int32_t> text = some_tokens(90, 3);
  const Tensor expected = TestSequence(model, 20).run(model, text);
  TestSequence sequence(model);
  for (int64_t at = 0; at < 90; at += 5) {
    for (int64_t block = 0; block < (at - kChunk + 1) / kKvBlockTokens; ++block) {
      int32_t& entry = sequence.blocks[static_cast<size_t>(block)];
      if (entry == kNoBlock) continue;
      for (size_t i = 0; i < model.cache.layers(); ++i) {
        const Tensor& key = model.cache.layer(i).key;
        const auto size = static_cast<size_t>(bytes_of(key.dtype(), key.strides()[0]));
        std::memset(key.raw() + static_cast<size_t>(entry) * size, 0xff, size);
      }
      entry = kNoBlock;
    }
    const Tensor logits = sequence.run(model, std::span(text).subspan(static_cast<size_t>(at), 5));
    expect_identical(logits, narrow(expected, 0, at, 5).contiguous(), cat("from ", at));
  }
}

TEST(LayerKinds, SharedKeysAreKeptOnce) {
  WICK_NEEDS_FIXTURE("gemma3n");
  EXPECT_EQ(TestModel(family_folder("gemma3n")).model->facts().kv_layers.size(), 2u);  // of four
}

TEST(LayerKinds, ContradictionsAreRefused) {
  WICK_NEEDS_FIXTURE("diffllama");
  const auto refusal = [](const char* folder, const std::string& from, const std::string& to) {
    const TempFolder temp;
    copy_model(family_folder(folder), temp.path(), from, to);
    try {
      const TestModel model(temp.path());
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  const auto expect = [](const std::string& sentence, const char* part) {
    EXPECT_NE(sentence.find(part), std::string::npos) << sentence;
  };
  expect(refusal("diffllama", "\"num_key_value_heads\": 2", "\"num_key_value_heads\": 1"), "two halves");
  expect(refusal("llama4", "\"no_rope_layers\": [\n  1,", "\"no_rope_layers\": [\n  1, 1,"), "no_rope_layers");
  expect(refusal("llama4", "\"attention_chunk_size\": 8192", "\"attention_chunk_size\": 0"), "attention_chunk_size");
  expect(refusal("llama4", "\"moe_layers\": [\n  0,", "\"moe_layers\": [\n  0, 7,"), "moe_layers");
  expect(refusal("gemma3n", "\"altup_active_idx\": 0", "\"altup_active_idx\": 4"), "altup_active_idx");
  expect(refusal("gemma3n", "0.95", "1.5"), "activation_sparsity_pattern");
  expect(refusal("gemma3n", "\"num_kv_shared_layers\": 2", "\"num_kv_shared_layers\": 3"), "num_kv_shared_layers");
}

}  // namespace
}  // namespace wick
