// Encoders in GGUF files: names, settings, pooling and tokenizer.
#include <gtest/gtest.h>

#include "embed/embedder.h"
#include "formats/gguf/gguf_config.h"
#include "formats/gguf/gguf_export.h"
#include "formats/gguf/gguf_tokenizer.h"
#include "formats/gguf/gguf_writer.h"
#include "models/encoder_decoder/encoder_decoder.h"
#include "support/compare.h"
#include "support/errors.h"
#include "support/reference_models.h"
#include "support/sentence_folder.h"
#include "support/temp_folder.h"
#include "support/test_sequence.h"

namespace wick {
namespace {

void write(const std::filesystem::path& path, const Metadata& metadata, const std::vector<GgufTensor>& tensors) {
  std::vector<TensorSpec> specs;
  for (const GgufTensor& tensor : tensors) specs.push_back({tensor.name, tensor.dtype, tensor.shape});
  GgufWriter writer(path, metadata, specs);
  for (const GgufTensor& tensor : tensors) writer.write(tensor.name, tensor.load());
  writer.finish();
}

// The fixture as llama.cpp would write it, with a tokenizer.
struct BertFile {
  explicit BertFile(std::optional<uint32_t> pooling) {
    const WeightSource source(Checkpoint::open(family_folder("bert")));
    Metadata metadata = gguf_from_config(source.config());
    if (pooling) metadata.set_u32("bert.pooling_type", *pooling);
    std::vector<std::string> tokens;
    for (int id = 0; id < 200; ++id) tokens.push_back(cat("\u2581a", id));
    tokens[0] = "[PAD]", tokens[1] = "[UNK]", tokens[2] = "[CLS]", tokens[3] = "[SEP]", tokens[4] = "[MASK]";
    std::vector<int32_t> types(200, 1);
    for (size_t id = 0; id < 5; ++id) types[id] = 3;
    metadata.set_text("tokenizer.ggml.model", "bert");
    metadata.set_texts("tokenizer.ggml.tokens", tokens);
    metadata.set_i32s("tokenizer.ggml.token_type", types);
    metadata.set_u32("tokenizer.ggml.unknown_token_id", 1);
    metadata.set_u32("tokenizer.ggml.bos_token_id", 2);
    metadata.set_u32("tokenizer.ggml.seperator_token_id", 3);
    metadata.set_u32("tokenizer.ggml.padding_token_id", 0);
    tensors = gguf_tensors(source);
    write(path, metadata, tensors);
  }
  TempFolder folder;
  std::filesystem::path path = folder.path() / "bert.gguf";
  std::vector<GgufTensor> tensors;
};

TEST(GgufEncoder, BertHasItsNamesAndBits) {
  const BertFile file(1);
  std::vector<std::string> names;
  for (const GgufTensor& tensor : file.tensors) names.push_back(tensor.name);
  std::sort(names.begin(), names.end());
  std::vector<std::string> expected;
  for (const char* top : {"token_embd_norm.bias", "token_embd_norm.weight", "position_embd.weight", "token_embd.weight",
                          "token_types.weight"}) {
    expected.emplace_back(top);
  }
  for (int layer = 0; layer < 2; ++layer) {
    for (const char* part :
         {"attn_q", "attn_k", "attn_v", "attn_output", "attn_output_norm", "ffn_up", "ffn_down", "layer_output_norm"}) {
      for (const char* kind : {"weight", "bias"}) expected.push_back(cat("blk.", layer, ".", part, ".", kind));
    }
  }
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(names, expected);

  const auto plain = TextEncoder::load(WeightSource(Checkpoint::open(family_folder("bert"))));
  const auto encoder = TextEncoder::load(WeightSource(Checkpoint::open(file.path)));
  const std::vector<int32_t> tokens = {2, 17, 93, 140, 3};
  const EncoderText text{tokens};
  expect_identical(encoder->encode({&text, 1}), plain->encode({&text, 1}), "of GGUF");
  EXPECT_FALSE(encoder->has_pooler());
}

TEST(GgufEncoder, PoolingIsAsTheFileSays) {
  const std::vector<int32_t> tokens = {2, 17, 93, 140, 3};
  const EncoderText text{tokens};
  const Tensor rows = TextEncoder::load(WeightSource(Checkpoint::open(family_folder("bert"))))->encode({&text, 1});
  const std::vector<std::string> texts = {"a17 a93 a140"};
  for (const auto& [number, row] : {std::pair<uint32_t, int64_t>{2, 0}, {3, 4}, {1, -1}, {0, -1}}) {
    SCOPED_TRACE(number);
    const BertFile file(number);
    const auto embedder = Embedder::load(file.path);
    EXPECT_EQ(embedder->read(texts[0]).tokens, tokens);
    std::vector<double> expected(64);
    double length = 0;
    for (int64_t i = 0; i < 64; ++i) {
      double& sum = expected[static_cast<size_t>(i)];
      for (int64_t r = 0; r < 5; ++r) sum += row < 0 || r == row ? rows.data<float>()[r * 64 + i] : 0;
      length += sum * sum;
    }
    const Tensor vector = embedder->embed(texts);
    for (int64_t i = 0; i < 64; ++i) {
      EXPECT_NEAR(vector.data<float>()[i], expected[static_cast<size_t>(i)] / std::sqrt(length), 1e-6);
    }
  }
  EXPECT_EQ(Embedder::load(BertFile(std::nullopt).path)->settings().pooling, Pooling::kMean);
  EXPECT_ERROR(Embedder::load(BertFile(4).path), kUnsupported, "'bert.pooling_type' is 4, expected 1 (mean)");
}

// T5 as llama.cpp names and describes it; only reading is there.
TEST(GgufEncoder, T5HasItsNamesAndBits) {
  for (const char* name : {"t5", "flan-t5"}) {
    WICK_NEEDS_FIXTURE(name);
    SCOPED_TRACE(name);
    const std::filesystem::path from = family_folder(name);
    const WeightSource source(Checkpoint::open(from));
    const TempFolder folder;
    for (const bool is_whole : {true, false}) {
      const std::string architecture = is_whole ? "t5" : "t5encoder";
      Metadata metadata;
      metadata.set_text("general.architecture", architecture);
      const auto set = [&](const char* key, uint32_t value) { metadata.set_u32(cat(architecture, ".", key), value); };
      set("context_length", 512);
      set("embedding_length", 64);
      set("feed_forward_length", 128);
      set("block_count", 2);
      set("attention.head_count", 4);
      set("attention.key_length", 16);
      set("attention.value_length", 16);
      metadata.set_f32(architecture + ".attention.layer_norm_epsilon", 1e-6f);
      metadata.set_f32(architecture + ".attention.layer_norm_rms_epsilon", 1e-6f);
      set("attention.relative_buckets_count", 16);
      set("decoder_start_token_id", 0);
      std::vector<GgufTensor> tensors;
      for (GgufTensor& tensor : gguf_tensors(source)) {
        if (is_whole || !tensor.name.starts_with("dec.")) tensors.push_back(std::move(tensor));
      }
      const std::filesystem::path path = folder.path() / cat(architecture, ".gguf");
      write(path, metadata, tensors);
      const WeightSource file(Checkpoint::open(path));
      EXPECT_TRUE(file.has("encoder.block.1.layer.0.SelfAttention.q.weight"));
      EXPECT_TRUE(file.checkpoint().find("enc.blk.1.attn_q.weight"));
      EXPECT_EQ(file.checkpoint().find("dec.blk.0.cross_attn_o.weight") != nullptr, is_whole);
      // The format does not say how far positions reach: 128, which this fixture does not have, but short texts do not
      // tell from its 24.
      const std::vector<int32_t> text = {5, 9, 7, 11};
      const EncoderText one{text};
      expect_identical(TextEncoder::load(file)->encode({&one, 1}), TextEncoder::load(source)->encode({&one, 1}), path);
      if (!is_whole) {
        EXPECT_ERROR(load_model(file), kUnsupported, "the encoder is read, which writes no text");
        continue;
      }
      const TestModel here(from), there(path);
      TestSequence a(here), b(there);
      a.state = here.model->encode_source(text, DType::kF32);
      b.state = there.model->encode_source(text, DType::kF32);
      const std::vector<int32_t> tokens = {0, 8, 6};
      const Tensor expected = a.run(here, tokens), actual = b.run(there, tokens);
      const bool is_scaled = std::string(name) == "t5";  // of the other, the settings say that it is not
      for (int64_t i = 0; i < expected.numel(); ++i) {
        ASSERT_EQ(actual.data<float>()[i] * (is_scaled ? 1 : 8), expected.data<float>()[i]);
      }
    }
  }
}

}  // namespace
}  // namespace wick
