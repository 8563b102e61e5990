#pragma once

#include <optional>

#include "engine/sampling/sampler.h"
#include "server/api/fields.h"
#include "tokenizer/tokenizer.h"

namespace wick {

inline constexpr char kWickDoc[] = "Where what was captured can be fetched, when asked for.";

// The chat API's way to write log-probabilities.
struct TopLogprob {
  std::string token;
  double logprob = 0;
  std::vector<int> bytes;
  static const Fields<TopLogprob>& fields();
};
struct TokenLogprob : TopLogprob {
  std::vector<TopLogprob> top_logprobs;
  static const Fields<TokenLogprob>& fields();
};
struct ChatLogprobs {
  std::vector<TokenLogprob> content;
  static const Fields<ChatLogprobs>& fields();
};
TokenLogprob token_logprob(const SampledToken& choice, const Tokenizer& tokenizer);

// The older way, of /v1/completions.
struct CompletionLogprobs {
  std::vector<std::string> tokens;
  std::vector<std::optional<double>> token_logprobs;  // empty for the first token of a prompt
  std::vector<OrderedJson> top_logprobs;              // an object from token to number, or null
  std::vector<int64_t> text_offset;                   // in characters
  static const Fields<CompletionLogprobs>& fields();

  // `offset`: where the token begins in the text; moved behind it. `first_of_prompt`: nothing was known before it.
  void add(const SampledToken& choice, const Tokenizer& tokenizer, int64_t& offset, bool first_of_prompt = false);
};

// What a token stands for as text that JSON can hold.
std::string shown_token(int32_t token, const Tokenizer& tokenizer);

}  // namespace wick
