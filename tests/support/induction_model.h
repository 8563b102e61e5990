#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "support/tiny_models.h"
#include "tensor/create.h"

namespace wick {

// Writes a GPT-2 of two layers and two heads, made by hand to continue what it has seen before. The residual stream
// holds the token (one of 16), its position (one of 32) and the token before it (one of 16), each as a one among zeros:
//   head 0.0 looks at the position before and writes down its token as "the token before";
//   head 1.1 looks for a row whose token before is its own token, and writes that row's token as its answer.
// The other heads and the MLPs do nothing. A text starts with token 15, which must not come again.
class InductionModel {
 public:
  static constexpr int64_t kVocabulary = 16, kPositions = 32, kHidden = 64, kHeadDim = 32;
  static constexpr int32_t kStart = 15;

  static void write(const std::filesystem::path& folder) {
    std::vector<std::pair<std::string, Tensor>> tensors;
    Tensor tokens = zeros({kVocabulary, kHidden}), places = zeros({kPositions, kHidden});
    for (int64_t i = 0; i < kVocabulary; ++i) set(tokens, i, kToken + i, 1);
    for (int64_t i = 0; i < kPositions; ++i) set(places, i, kPlace + i, 1);
    tensors.emplace_back("transformer.wte.weight", tokens);
    tensors.emplace_back("transformer.wpe.weight", places);
    add_norm(tensors, "transformer.ln_f");
    for (int layer = 0; layer < 2; ++layer) {
      const std::string prefix = cat("transformer.h.", layer, ".");
      Tensor qkv = zeros({kHidden, 3 * kHidden}), out = zeros({kHidden, kHidden});  // [in, out]
      const int64_t query = layer * kHeadDim, key = kHidden + query,
                    value = 2 * kHidden + query;  // head 0, then head 1
      if (layer == 0) {
        for (int64_t i = 1; i < kPositions; ++i) set(qkv, kPlace + i, query + i - 1, kSharpness);
        for (int64_t i = 0; i < kPositions; ++i) set(qkv, kPlace + i, key + i, 1);
        for (int64_t i = 0; i < kVocabulary; ++i) set(out, query + i, kBefore + i, 0.2f);
      } else {
        for (int64_t i = 0; i < kVocabulary; ++i) set(qkv, kToken + i, query + i, kSharpness);
        for (int64_t i = 0; i < kVocabulary; ++i) set(qkv, kBefore + i, key + i, 1);
        for (int64_t i = 0; i < kVocabulary; ++i) set(out, query + i, kToken + i, 2);
      }
      for (int64_t i = 0; i < kVocabulary; ++i) set(qkv, kToken + i, value + i, 1);
      tensors.emplace_back(prefix + "attn.c_attn.weight", qkv);
      tensors.emplace_back(prefix + "attn.c_attn.bias", zeros({3 * kHidden}));
      tensors.emplace_back(prefix + "attn.c_proj.weight", out);
      tensors.emplace_back(prefix + "attn.c_proj.bias", zeros({kHidden}));
      tensors.emplace_back(prefix + "mlp.c_fc.weight", zeros({kHidden, 8}));
      tensors.emplace_back(prefix + "mlp.c_fc.bias", zeros({8}));
      tensors.emplace_back(prefix + "mlp.c_proj.weight", zeros({8, kHidden}));
      tensors.emplace_back(prefix + "mlp.c_proj.bias", zeros({kHidden}));
      add_norm(tensors, prefix + "ln_1");
      add_norm(tensors, prefix + "ln_2");
    }
    write_checkpoint(folder,
                     R"({"model_type": "gpt2", "n_embd": 64, "n_head": 2, "n_layer": 2, "n_positions": 32, "n_inner": 8,
                         "layer_norm_epsilon": 1e-5, "vocab_size": 16, "tie_word_embeddings": true})",
                     tensors);
  }

 private:
  static constexpr int64_t kToken = 0, kPlace = 16, kBefore = 48;  // where they lie in the residual stream
  static constexpr float kSharpness = 20;

  static void set(Tensor& tensor, int64_t row, int64_t column, float value) {
    tensor.mutable_data<float>()[row * tensor.dim(1) + column] = value;
  }
  static void add_norm(std::vector<std::pair<std::string, Tensor>>& tensors, const std::string& name) {
    tensors.emplace_back(name + ".weight", ones({kHidden}));
    tensors.emplace_back(name + ".bias", zeros({kHidden}));
  }
};

}  // namespace wick
