#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/json.h"
#include "speech/whisper/whisper_tokens.h"

namespace wick {

// What may be generated next, by the rules of the original:
//   - tokens on the list (signs that nobody says, control tokens) never; an end or a blank not at the beginning
//   - a text begins with a time of at most one second; times come in pairs around segments, or one at the end; they do
//     not go back, and a segment is not empty
//   - where all times together are likelier than any other token, one of them is generated
class WhisperRules {
 public:
  // `generation`: generation_config.json, whose lists are used where it has them; null: the original's lists, made with
  // the tokenizer. Throws Error(kBadFile) for tokens outside the vocabulary.
  WhisperRules(const WhisperTokens& tokens, const Tokenizer& tokenizer, int64_t vocabulary, const Json& generation);

  const WhisperTokens& tokens() const { return tokens_; }
  // Ascending, each once.
  const std::vector<int32_t>& never() const { return never_; }
  const std::vector<int32_t>& not_first() const { return not_first_; }

  // Logits of tokens that must not come become -infinity. `generated`: the tokens of this window so far;
  // `times`: whether it writes times.
  void apply(std::span<float> logits, std::span<const int32_t> generated, bool times) const;
  // The last rule, on log-probabilities of allowed tokens: if a time must come, all others become -infinity and the
  // rest adds up to 1 again.
  void prefer_times(std::span<float> logprobs) const;

 private:
  WhisperTokens tokens_;
  std::vector<int32_t> never_, not_first_;
};

}  // namespace wick
