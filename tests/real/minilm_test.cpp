// all-MiniLM-L6-v2, an encoder for sentence vectors.
#include <gtest/gtest.h>

#include <cmath>

#include "formats/checkpoint.h"
#include "formats/convert_weight.h"
#include "formats/gguf/gguf_tokenizer.h"
#include "real/real_models.h"

namespace wick {
namespace {

TEST(MiniLm, Opens) {
  const auto path = real_model("minilm/model.fp16.safetensors");
  if (!path) GTEST_SKIP() << kHowToGet;
  const Checkpoint file = Checkpoint::open(*path);
  EXPECT_EQ(file.entries().size(), 104u);
  EXPECT_EQ(file.config().get("model_type", ""), "bert");
  const Tensor words = file.get("embeddings.word_embeddings.weight");
  EXPECT_EQ(words.shape(), Shape({30522, 384}));
  EXPECT_EQ(words.dtype(), DType::kF16);
  const Tensor decoded = convert_tensor(words, DType::kF32);
  for (int64_t i = 0; i < decoded.numel(); ++i) ASSERT_TRUE(std::isfinite(decoded.data<float>()[i]));
}

TEST(MiniLm, TokenizerGoesToGguf) {
  const auto path = real_model("minilm/tokenizer.json");
  if (!path) GTEST_SKIP() << kHowToGet;
  const Metadata out = gguf_tokenizer(path->parent_path(), Json::load(path->parent_path() / "config.json"));
  EXPECT_EQ(out.text("tokenizer.ggml.model"), "bert");
  EXPECT_EQ(out.array("tokenizer.ggml.tokens").count, 30522);
}

TEST(Qwen3Tokenizer, GoesToGguf) {
  const auto path = real_model("qwen3-tokenizer/tokenizer.json");
  if (!path) GTEST_SKIP() << kHowToGet;
  const Metadata out = gguf_tokenizer(path->parent_path(), Json::parse("{}", "config.json"));
  EXPECT_EQ(out.text("tokenizer.ggml.model"), "gpt2");
  EXPECT_EQ(out.text("tokenizer.ggml.pre"), "qwen2");
  EXPECT_EQ(out.array("tokenizer.ggml.tokens").count, 151669);
  EXPECT_EQ(out.array("tokenizer.ggml.merges").count, 151387);
}

}  // namespace
}  // namespace wick
