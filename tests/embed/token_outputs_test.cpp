// BGE-M3's weights and vectors of tokens, against plain arithmetic.
#include "embed/token_outputs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "support/errors.h"
#include "support/sentence_folder.h"
#include "support/torch_archive.h"
#include "tensor/create.h"

namespace wick {
namespace {

void write_linear(const TinySentences& folder, const std::string& name, const Tensor& weight, const Tensor& bias) {
  const auto bytes = [](const Tensor& x) {
    return std::string(reinterpret_cast<const char*>(x.data<float>()), static_cast<size_t>(x.numel()) * sizeof(float));
  };
  const int outputs = static_cast<int>(weight.dim(0));
  StatePickle pickle;
  pickle.add("weight", "FloatStorage", "0", weight.numel(), {outputs, 64}, {64, 1});
  pickle.add("bias", "FloatStorage", "1", outputs, {outputs}, {1});
  ZipWriter zip;
  zip.add(name + "/data.pkl", pickle.finish());
  zip.add(name + "/data/0", bytes(weight));
  zip.add(name + "/data/1", bytes(bias));
  folder.write(name + ".pt", zip.finish());
}

TEST(TokenOutputs, AreThoseOfEachToken) {
  const TinySentences folder;
  const Tensor sparse = randn({1, 64}, 3), sparse_bias = randn({1}, 4), many = randn({8, 64}, 5), bias = randn({8}, 6);
  write_linear(folder, "sparse_linear", sparse, sparse_bias);
  write_linear(folder, "colbert_linear", many, bias);
  const auto embedder = Embedder::load(folder.path());
  const TokenOutputs outputs(folder.path(), embedder);
  const std::vector<EncoderInput> texts = {embedder->read("w9 w30 w9 w31 w77 w100"), embedder->read("w50")};
  const auto weights = outputs.weights(texts);
  const auto vectors = outputs.vectors(texts);
  ASSERT_EQ(weights.size(), 2u);
  int positive = 0;
  for (size_t t = 0; t < 2; ++t) {
    const EncoderText one{texts[t].tokens};
    const Tensor rows = embedder->rows().encoder()->encode({&one, 1});
    const auto product = [&](const Tensor& weight, int64_t output, int64_t token) {
      double sum = 0;
      for (int64_t i = 0; i < 64; ++i) {
        sum += static_cast<double>(weight.data<float>()[output * 64 + i]) * rows.data<float>()[token * 64 + i];
      }
      return sum;
    };
    std::map<int32_t, double> expected;
    for (int64_t i = 1; i + 1 < rows.dim(0); ++i) {  // without [CLS] and [SEP]
      const double weight = product(sparse, 0, i) + sparse_bias.data<float>()[0];
      const int32_t token = texts[t].tokens[static_cast<size_t>(i)];
      if (weight > 0) expected[token] = std::max(expected[token], weight);
    }
    ASSERT_EQ(weights[t].size(), expected.size());
    for (const TokenWeight& one_weight : weights[t]) {
      EXPECT_NEAR(one_weight.weight, expected.at(one_weight.token), 1e-4);
      ++positive;
    }
    ASSERT_EQ(vectors[t].shape(), (Shape{rows.dim(0) - 1, 8}));
    for (int64_t i = 1; i < rows.dim(0); ++i) {
      std::vector<double> vector;
      double length = 0;
      for (int64_t o = 0; o < 8; ++o) {
        vector.push_back(product(many, o, i) + bias.data<float>()[o]);
        length += vector.back() * vector.back();
      }
      for (int64_t o = 0; o < 8; ++o) {
        EXPECT_NEAR(vectors[t].data<float>()[(i - 1) * 8 + o], vector[static_cast<size_t>(o)] / std::sqrt(length),
                    1e-5);
      }
    }
  }
  EXPECT_GT(positive, 0);
}

TEST(TokenOutputs, WhatIsNotThereIsSaid) {
  const TinySentences folder;
  const auto embedder = Embedder::load(folder.path());
  EXPECT_ERROR(TokenOutputs(folder.path(), embedder), kUnsupported, "has no sparse_linear.safetensors or .pt");
  write_linear(folder, "colbert_linear", randn({8, 64}, 5), randn({8}, 6));
  const std::vector<EncoderInput> texts = {embedder->read("w50")};
  EXPECT_ERROR(TokenOutputs(folder.path(), embedder).weights(texts), kUnsupported, "has no sparse_linear");
  write_linear(folder, "sparse_linear", randn({2, 64}, 5), randn({2}, 6));
  EXPECT_ERROR(TokenOutputs(folder.path(), embedder), kBadFile, "sparse_linear.pt");
}

}  // namespace
}  // namespace wick
