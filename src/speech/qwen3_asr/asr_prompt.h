#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "speech/languages.h"
#include "tokenizer/tokenizer.h"

namespace wick {

// What the decoder is asked with.
struct AsrPrompt {
  std::vector<int32_t> tokens;  // audio_token stands wherever an audio embedding goes
  int64_t audio_position = 0;   // of the first one
};

struct AsrPromptOptions {
  std::string_view context;            // names and rare words that are likely to be said; any text
  const Language* language = nullptr;  // null: the model finds out
};

// Text in `context` never becomes a control token. Throws Error(kBadFile) when the tokenizer lacks a token of the
// prompt, Error(kInvalidArgument) when audio_tokens is not above 0.
AsrPrompt asr_prompt(const Tokenizer& tokenizer, int32_t audio_token, int64_t audio_tokens,
                     const AsrPromptOptions& options = {});

}  // namespace wick
