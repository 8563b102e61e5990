#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "speech/recognition.h"
#include "tokenizer/tokenizer.h"

namespace wick {

// Tokens of a text that make a word, with the punctuation that belongs to it.
struct WhisperWord {
  size_t first = 0, count = 0;  // of the tokens
  std::string text;             // with the blank before it
};

// Cuts text tokens into words: at blanks, or at every character for languages that write without them.
std::vector<WhisperWord> split_words(std::span<const int32_t> tokens, const Tokenizer& tokenizer, bool has_blanks);

// The words with their times: word i lasts from begins[words[i].first] to the begin of the token behind it, in steps of
// `seconds`; `begins` has one more for the end of the text. Words before a pause are not longer than words usually are.
std::vector<RecognizedWord> time_words(std::span<const WhisperWord> words, std::span<const int64_t> begins,
                                       std::span<const float> logprobs, double seconds);

}  // namespace wick
