#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "speech/languages.h"
#include "tokenizer/tokenizer.h"

namespace wick {

// The tokens that steer Whisper. Text comes first in the vocabulary, then `end`, these, and the times at the end.
struct WhisperTokens {
  struct Spoken {
    const Language* language;
    int32_t token;
  };

  int32_t end = 0;    // <|endoftext|>
  int32_t start = 0;  // <|startoftranscript|>
  std::vector<Spoken> languages;
  int32_t translate = -1, transcribe = -1;  // -1: there is none; models for English never need them
  std::optional<int32_t> start_of_lm;       // <|startoflm|>, never written
  int32_t previous = 0;                     // <|startofprev|>: what was said before follows
  int32_t no_speech = 0;
  int32_t no_times = 0;    // <|notimestamps|>
  int32_t first_time = 0;  // <|0.00|>; the others follow in steps of kSecondsPerTime
  int32_t times = 0;       // how many
  bool english_only = false;

  static constexpr double kSecondsPerTime = 0.02;

  bool is_time(int32_t token) const { return token >= first_time; }
  bool is_text(int32_t token) const { return token < end; }
  double seconds(int32_t time) const { return kSecondsPerTime * (time - first_time); }

  // `vocabulary`: of the model; `most_times`: that one window has. Throws Error(kBadFile) naming the token that is
  // missing or out of place.
  static WhisperTokens find(const Tokenizer& tokenizer, int64_t vocabulary, int64_t most_times, bool english_only);
  // The token of a language by its code; empty when the model has none.
  std::optional<int32_t> token_of(std::string_view code) const;
};

// Models without a setting that says so: the released ones for English have one token less than the others.
bool is_english_vocabulary(int64_t vocabulary);

// The tokenizer that belongs to a ggml-*.bin of whisper.cpp: its tokens, and behind them the control tokens in their
// usual order. Throws Error(kBadFile) when they do not make up the model's vocabulary.
Tokenizer ggml_tokenizer(const MappedFile& file, int64_t vocabulary);

}  // namespace wick
