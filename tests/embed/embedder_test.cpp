// Vectors of texts, against PyTorch and against what the folder says.
#include "embed/embedder.h"

#include <gtest/gtest.h>

#include "formats/safetensors/safetensors_writer.h"
#include "support/compare.h"
#include "support/errors.h"
#include "support/sentence_folder.h"
#include "tensor/create.h"

namespace wick {
namespace {

using Tokens = std::vector<int32_t>;

std::vector<EncoderInput> reference_texts(const Checkpoint& values) {
  const Tensor ids = values.get("input_ids"), mask = values.get("attention_mask");
  std::vector<EncoderInput> texts(static_cast<size_t>(ids.dim(0)));
  for (int64_t i = 0; i < ids.numel(); ++i) {
    if (!mask.data<int64_t>()[i]) continue;
    texts[static_cast<size_t>(i / ids.dim(1))].tokens.push_back(static_cast<int32_t>(ids.data<int64_t>()[i]));
  }
  return texts;
}

std::vector<float> row(const Tensor& x, int64_t at) {
  return {x.data<float>() + at * x.dim(1), x.data<float>() + (at + 1) * x.dim(1)};
}

TEST(EmbedderTest, PoolsAsPyTorchDoes) {
  const TinySentences folder;
  const Checkpoint values = Checkpoint::open(family_folder("bert") / "reference.safetensors");
  const std::vector<EncoderInput> texts = reference_texts(values);
  const auto mean = Embedder::load(folder.path());
  EXPECT_TRUE(mean->settings().is_plain);
  EXPECT_LT(relative_error(mean->embed(texts), values.get("mean_pooled_normalized")), 2e-6);
  folder.pools("pooling_mode_cls_token", kNormalizeModule);
  const auto cls = Embedder::load(folder.path());
  EXPECT_FALSE(cls->settings().is_plain);
  EXPECT_LT(relative_error(cls->embed(texts), values.get("cls_normalized")), 2e-6);
}

TEST(EmbedderTest, OtherPoolingsAreWhatTheirNamesSay) {
  const TinySentences folder;
  const EncoderInput text{{2, 17, 99, 43, 3}};
  const auto plain = Embedder::load(folder.path());
  const EncoderText one{text.tokens};
  const Tensor hidden = plain->rows().encoder()->encode({&one, 1});
  const auto pooled = [&](const std::string& flag) {
    folder.pools(flag);
    return row(Embedder::load(folder.path())->embed(std::span(&text, 1)), 0);
  };
  std::vector<double> sum(64), weighted(64);
  std::vector<float> most = row(hidden, 0);
  for (int64_t i = 0; i < 5; ++i) {
    for (size_t j = 0; j < 64; ++j) {
      const float x = row(hidden, i)[j];
      sum[j] += x;
      weighted[j] += static_cast<double>(i + 1) * x;
      most[j] = std::max(most[j], x);
    }
  }
  EXPECT_EQ(pooled("pooling_mode_max_tokens"), most);
  EXPECT_EQ(pooled("pooling_mode_lasttoken"), row(hidden, 4));
  const auto mean_sqrt = pooled("pooling_mode_mean_sqrt_len_tokens"),
             by_place = pooled("pooling_mode_weightedmean_tokens");
  for (size_t j = 0; j < 64; ++j) {
    EXPECT_NEAR(mean_sqrt[j], sum[j] / std::sqrt(5.0), 1e-6);
    EXPECT_NEAR(by_place[j], weighted[j] / 15, 1e-6);
  }
}

TEST(EmbedderTest, ADenseModuleFollows) {
  const TinySentences folder;
  const Tensor weight = randn({3, 64}, 7), bias = randn({3}, 8);
  folder.pools("pooling_mode_cls_token",
               R"(, {"idx": 2, "name": "2", "path": "2_Dense", "type": "sentence_transformers.models.Dense"})");
  folder.write("2_Dense/config.json", R"({"in_features": 64, "out_features": 3, "bias": true,
                                          "activation_function": "torch.nn.modules.activation.Tanh"})");
  const std::vector<NamedTensor> tensors = {{"linear.weight", weight}, {"linear.bias", bias}};
  folder.write("2_Dense/model.safetensors", safetensors_bytes(tensors));
  const auto embedder = Embedder::load(folder.path());
  EXPECT_EQ(embedder->dimensions(), 3);
  const EncoderInput text{{2, 17, 99, 43, 3}};
  const EncoderText one{text.tokens};
  const std::vector<float> cls = row(embedder->rows().encoder()->encode({&one, 1}), 0);
  const std::vector<float> got = row(embedder->embed(std::span(&text, 1)), 0);
  for (size_t i = 0; i < 3; ++i) {
    double sum = bias.data<float>()[i];
    for (size_t j = 0; j < 64; ++j) sum += static_cast<double>(weight.data<float>()[i * 64 + j]) * cls[j];
    EXPECT_NEAR(got[i], std::tanh(sum), 1e-5);
  }
}

TEST(EmbedderTest, AVectorDependsOnItsTextAlone) {
  const TinySentences folder;
  const auto embedder = Embedder::load(folder.path());
  std::vector<EncoderInput> texts;
  for (int length : {5, 64, 3, 5, 12, 40, 3}) {
    Tokens& text = texts.emplace_back().tokens;
    for (int i = 0; i < length; ++i) text.push_back(5 + (i * 31 + length * 7) % 190);
  }
  // More than one pass.
  for (int i = 0; i < 100; ++i) texts.push_back(texts[static_cast<size_t>(i % 7)]);
  std::vector<int64_t> told;
  const Tensor all = embedder->embed(texts, [&](int64_t done) { told.push_back(done); });
  EXPECT_EQ(told.back(), 107);
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(row(all, static_cast<int64_t>(i)), row(embedder->embed(std::span(&texts[i], 1)), 0)) << i;
  }
}

TEST(EmbedderTest, PromptsAndLimitsAreTheFolders) {
  const TinySentences folder;
  folder.write("config_sentence_transformers.json",
               R"({"prompts": {"query": "w7 : ", "passage": "w8 : "}, "default_prompt_name": null})");
  folder.write("sentence_bert_config.json", R"({"max_seq_length": 6, "do_lower_case": false})");
  const auto embedder = Embedder::load(folder.path());
  EXPECT_EQ(embedder->most_tokens(), 6);
  EXPECT_EQ(embedder->read("w9").tokens, (Tokens{2, 9, 3}));
  EXPECT_EQ(embedder->read("W9", {embedder->prompt("query")}).tokens, (Tokens{2, 7, 4, 9, 3}));
  EXPECT_ERROR(embedder->prompt("question"), kInvalidArgument, "no prompt 'question'; known are: 'passage', 'query'");
  EXPECT_ERROR(embedder->read("w9 w10 w11 w12 w13"), kInvalidArgument,
               "the text has at least 7 tokens, the model takes 6");
  const EncoderInput cut = embedder->read("w9 w10 w11 w12 w13", {{}, true});
  EXPECT_EQ(cut.tokens, (Tokens{2, 9, 10, 11, 12, 3}));
  EXPECT_TRUE(cut.is_cut);
  EXPECT_FALSE(embedder->read("w9").is_cut);
  std::string long_text;
  for (int i = 0; i < 5000; ++i) long_text += cat("w", 5 + i % 190, " ");
  EXPECT_EQ(embedder->read(long_text, {{}, true}).tokens, (Tokens{2, 5, 6, 7, 8, 3}));
  EXPECT_ERROR(embedder->read(long_text), kInvalidArgument, "tokens, the model takes 6");
  EXPECT_ERROR(embedder->read(""), kInvalidArgument, "nothing in the text");
  EXPECT_ERROR(embedder->read(" \n"), kInvalidArgument, "nothing in the text");
  const std::vector<std::string> texts = {"w9", "", "w10"};
  EXPECT_ERROR(embedder->embed(texts), kInvalidArgument, "text 1: there is nothing in the text");
  folder.write("config_sentence_transformers.json",
               R"({"prompts": {"query": "w7 : "}, "default_prompt_name": "query"})");
  EXPECT_EQ(Embedder::load(folder.path())->read("w9").tokens, (Tokens{2, 7, 4, 9, 3}));
}

TEST(EmbedderTest, LongTextsAreTakenInParts) {
  const TinySentences folder;
  folder.write("sentence_bert_config.json", R"({"max_seq_length": 6})");
  const auto embedder = Embedder::load(folder.path());
  const EmbedOptions chunk{.in_parts = true};
  const auto parts = embedder->read_parts("w9 w10 w11 w12 w13  w14 w15", chunk);
  std::vector<Tokens> read;
  for (const EncoderInput& part : parts) read.push_back(part.tokens);
  // One place less than there are, as a word may be cut otherwise where a part ends.
  EXPECT_EQ(read, (std::vector<Tokens>{{2, 9, 10, 11, 3}, {2, 12, 13, 14, 3}, {2, 15, 3}}));
  EXPECT_EQ(embedder->read_parts("w9 w10", chunk).size(), 1u);
  EXPECT_ERROR(embedder->read_parts(" ", chunk), kInvalidArgument, "nothing in the text");
  const std::vector<std::vector<EncoderInput>> texts = {embedder->read_parts("w9", chunk), parts};
  const Tensor vectors = embedder->embed_parts(texts), each = embedder->embed(parts);
  std::vector<double> mean(64);
  double length = 0;
  for (size_t i = 0; i < 64; ++i) {
    for (size_t part = 0; part < 3; ++part) {
      mean[i] += static_cast<double>(read[part].size()) / 13 * row(each, static_cast<int64_t>(part))[i];
    }
    length += mean[i] * mean[i];
  }
  for (size_t i = 0; i < 64; ++i) EXPECT_NEAR(row(vectors, 1)[i], mean[i] / std::sqrt(length), 1e-6);
  EXPECT_EQ(row(vectors, 0), row(embedder->embed(std::vector<std::string>{"w9"}), 0));
}

TEST(EmbedderTest, WhatIsNotUnderstoodIsRefusedByName) {
  const TinySentences folder;
  const auto load = [&] { return Embedder::load(folder.path()); };
  folder.pools("pooling_mode_median_tokens");
  EXPECT_ERROR(load(), kUnsupported, "pooling_mode_median_tokens");
  folder.pools("pooling_mode_cls_token\": true, \"pooling_mode_max_tokens");
  EXPECT_ERROR(load(), kUnsupported, "more than one pooling, 'cls' and 'max'");
  folder.pools("pooling_mode_cls_token", R"(, {"path": "2_LSTM", "type": "sentence_transformers.models.LSTM"})");
  EXPECT_ERROR(load(), kUnsupported, "sentence_transformers.models.LSTM");
  folder.pools("pooling_mode_cls_token", R"(, {"path": "../2", "type": "sentence_transformers.models.Dense"})");
  EXPECT_ERROR(load(), kBadFile, "leaves the folder");
  folder.pools("pooling_mode_cls_token", R"(, {"path": "2", "type": "sentence_transformers.models.Dense"})");
  folder.write("2/config.json", R"({"in_features": 32, "out_features": 3, "activation_function": "torch.nn.Tanh"})");
  EXPECT_ERROR(load(), kBadFile, "'in_features' is 32, and the vectors before it have 64");
  folder.write("2/config.json", R"({"in_features": 64, "out_features": 3, "activation_function": "torch.nn.ReLU"})");
  EXPECT_ERROR(load(), kUnsupported, "torch.nn.ReLU");
  folder.pools("pooling_mode_cls_token");
  folder.write("sentence_bert_config.json", R"({"max_seq_length": 6, "do_lower_case": true})");
  EXPECT_ERROR(load(), kUnsupported, "do_lower_case");
}

// Qwen3-Embedding and its kin: the last token's state behind the last norm.
TEST(EmbedderTest, LanguageModelsGiveTheirLastRow) {
  const TinySentences folder(192);
  for (const char* name : {"config.json", "model.safetensors"}) {
    std::filesystem::copy_file(family_folder("qwen3") / name, folder.path() / name,
                               std::filesystem::copy_options::overwrite_existing);
  }
  EXPECT_ERROR(Embedder::load(folder.path()), kUnsupported, "there is no modules.json");
  folder.pools("pooling_mode_lasttoken");
  const auto embedder = Embedder::load(folder.path());
  EXPECT_EQ(embedder->rows().encoder(), nullptr);
  const Checkpoint values = Checkpoint::open(family_folder("qwen3") / "reference.safetensors");
  const Tensor ids = values.get("input_ids"), last = values.get(cat("hidden_", 2));
  ASSERT_EQ(embedder->dimensions(), last.dim(2));
  std::vector<EncoderInput> texts(3);
  texts[1].tokens = {5, 9, 77};
  for (int64_t i = 0; i < ids.numel(); ++i) {
    texts[0].tokens.push_back(static_cast<int32_t>(ids.data<int64_t>()[i]));
    if (i < 7) texts[2].tokens.push_back(static_cast<int32_t>(ids.data<int64_t>()[i]));
  }
  const Tensor vectors = embedder->embed(texts);
  const auto expect_row = [&](int64_t text, int64_t token) {
    for (int64_t i = 0; i < last.dim(2); ++i) {
      EXPECT_NEAR(row(vectors, text)[static_cast<size_t>(i)], last.data<float>()[token * last.dim(2) + i], 2e-5);
    }
  };
  expect_row(0, last.dim(1) - 1);
  expect_row(2, 6);
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(row(vectors, static_cast<int64_t>(i)), row(embedder->embed(std::span(&texts[i], 1)), 0)) << i;
  }
}

TEST(EmbedderTest, ShortVectorsAreNormalisedAgain) {
  const Tensor vectors = from_vector(std::vector<float>{3, 4, 12, 0, 0, 5}, {2, 3});
  EXPECT_EQ(row(shortened(vectors, 2), 0), (std::vector<float>{0.6f, 0.8f}));
  EXPECT_EQ(row(shortened(vectors, 2), 1), (std::vector<float>{0, 0}));
  EXPECT_EQ(row(shortened(vectors, 3), 0), (std::vector<float>{3, 4, 12}));
  EXPECT_ERROR(shortened(vectors, 4), kInvalidArgument, "4 dimensions are asked for, there are 1 to 3");
  EXPECT_NEAR(cosine(row(vectors, 0), row(vectors, 1)), 12.0 / 13, 1e-12);
}

}  // namespace
}  // namespace wick
