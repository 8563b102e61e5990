#pragma once

#include <span>
#include <string>

#include "interp/head_scores.h"
#include "interp/probes/linear_probe.h"
#include "interp/probes/logit_lens.h"
#include "interp/probes/sparse_autoencoder.h"
#include "interp/sweep_map.h"
#include "tokenizer/tokenizer.h"

namespace wick {

// The answers of POST /v1/wick/..., as JSON text: they are many numbers, so lists are flat and numbers short.

// {"id": ..., "text": ...}
std::string token_json(int32_t token, const Tokenizer& tokenizer);
// "tokens": [...], "pieces": [...] of a text.
std::string text_json(std::span<const int32_t> tokens, const Tokenizer& tokenizer);
// Six digits; null for what is not finite.
void append_numbers(std::string& out, std::span<const float> values);
void append_numbers(std::string& out, std::span<const double> values);

std::string lens_json(const LensMap& map, std::span<const int32_t> tokens, const LensOptions& options,
                      const Tokenizer& tokenizer);
// `patterns` [heads, tokens, tokens]: each value as a byte (255 is 1), of each row only what it can see, as Base64.
std::string attention_json(const Tensor& patterns, int layer, std::span<const int> heads,
                           std::span<const int32_t> tokens, const Tokenizer& tokenizer);
std::string norms_json(const Tensor& norms, std::span<const int32_t> tokens, const Tokenizer& tokenizer);
std::string heads_json(const HeadScores& scores, std::span<const int32_t> tokens, const Tokenizer& tokenizer);
// `probabilities` [tokens, classes] of a probe.
std::string probe_json(const LinearProbe& probe, const Tensor& probabilities, std::span<const int32_t> tokens,
                       const Tokenizer& tokenizer);
// What the classes of a probe are called.
std::vector<std::string> labels_of(const LinearProbe& probe);
// Of each token the strongest features, and the values of those that are followed.
struct FeatureRows {
  std::vector<std::vector<SaeFeature>> strongest;
  std::vector<float> followed;  // token by token
};
std::string features_json(const SparseAutoencoder& sae, const FeatureRows& rows, std::span<const int64_t> follow,
                          std::span<const int32_t> tokens, const Tokenizer& tokenizer);
// The likeliest next tokens: [{"id", "text", "probability"}, ...].
std::string next_tokens_json(std::span<const float> logits, int64_t top, const Tokenizer& tokenizer);

}  // namespace wick
