#include "engine/speech/whisper_window.h"

#include <algorithm>

#include "engine/speech/text_compression.h"

namespace wick {

std::string text_of(std::span<const int32_t> written, const Tokenizer& tokenizer, const WhisperTokens& tokens) {
  std::vector<int> text;
  std::copy_if(written.begin(), written.end(), std::back_inserter(text),
               [&](int32_t token) { return tokens.is_text(token); });
  return tokenizer.decode(text);
}

WhisperDecision write_window(WhisperSearch& search, const Tokenizer& tokenizer, const WhisperTokens& tokens,
                             float no_speech, WhisperSearchOptions options) {
  using Limits = WhisperLimits;
  const float first = options.temperature;
  const uint64_t windows_stream = options.stream * 64;
  for (int step = 0;; ++step) {
    options.temperature = first + static_cast<float>(step) * Limits::kTemperatureStep;
    options.stream = windows_stream + static_cast<uint64_t>(step);
    WhisperDecision made{search.write(options), options.temperature, no_speech};
    made.compression = compression_ratio(text_of(made.text.tokens, tokenizer, tokens));
    const bool guesses = made.text.mean_logprob() < Limits::kMeanLogprob;
    made.is_silence = no_speech > Limits::kNoSpeech && guesses;
    const bool good = !guesses && made.compression <= Limits::kCompression;
    const bool last = options.temperature + Limits::kTemperatureStep > Limits::kHighestTemperature + 1e-3f;
    if (good || made.is_silence || last) return made;
  }
}

}  // namespace wick
