#pragma once

#include <string>

#include "speech/whisper/whisper_task.h"

namespace wick {

// The limits of the original: a text beyond them is decoded again at the next temperature.
struct WhisperLimits {
  static constexpr double kCompression = 2.4;  // more is repetition
  static constexpr float kMeanLogprob = -1;    // less is unlikely to be right
  static constexpr float kNoSpeech = 0.6f;     // more is silence, if the text is unlikely, too
  static constexpr float kTemperatureStep = 0.2f, kHighestTemperature = 1;
  static constexpr float kForgetsAbove = 0.5f;  // a text of a higher temperature does not condition the next window
};

// What was made of one window.
struct WhisperDecision {
  WhisperText text;
  float temperature = 0, no_speech = 0;
  double compression = 0;
  bool is_silence = false;
};

// Tries one temperature after the other, until a text is good enough.
class WhisperAttempts {
 public:
  // `options`: of the first attempt; the stream is the number of the window. The others must live longer.
  WhisperAttempts(const Tokenizer& tokenizer, const WhisperTokens& tokens, const WhisperSearchOptions& options);

  WhisperSearchOptions options() const;  // of the present attempt
  // How to try again; nothing when decision() has the text that stays.
  std::optional<WhisperSearchOptions> judge(const WhisperText& text, float no_speech);
  const WhisperDecision& decision() const { return made_; }

 private:
  const Tokenizer& tokenizer_;
  const WhisperTokens& tokens_;
  WhisperSearchOptions options_;
  int attempt_ = 0;
  WhisperDecision made_;
};

// What the text tokens among these say.
std::string text_of(std::span<const int32_t> generated, const Tokenizer& tokenizer, const WhisperTokens& tokens);

}  // namespace wick
