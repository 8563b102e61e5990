#include "speech/whisper/whisper_window.h"

#include <algorithm>

#include "speech/text_compression.h"

namespace wick {

std::string text_of(std::span<const int32_t> generated, const Tokenizer& tokenizer, const WhisperTokens& tokens) {
  std::vector<int> text;
  std::copy_if(generated.begin(), generated.end(), std::back_inserter(text),
               [&](int32_t token) { return tokens.is_text(token); });
  return tokenizer.decode(text);
}

WhisperAttempts::WhisperAttempts(const Tokenizer& tokenizer, const WhisperTokens& tokens,
                                 const WhisperSearchOptions& options)
    : tokenizer_(tokenizer), tokens_(tokens), options_(options) {}

WhisperSearchOptions WhisperAttempts::options() const {
  WhisperSearchOptions options = options_;
  options.temperature += static_cast<float>(attempt_) * WhisperLimits::kTemperatureStep;
  options.stream = options_.stream * 64 + static_cast<uint64_t>(attempt_);
  return options;
}

std::optional<WhisperSearchOptions> WhisperAttempts::judge(const WhisperText& text, float no_speech) {
  using Limits = WhisperLimits;
  made_ = {text, options().temperature, no_speech};
  made_.compression = compression_ratio(text_of(text.tokens, tokenizer_, tokens_));
  const bool is_unlikely = text.mean_logprob() < Limits::kMeanLogprob;
  made_.is_silence = no_speech > Limits::kNoSpeech && is_unlikely;
  const bool good = !is_unlikely && made_.compression <= Limits::kCompression;
  const bool last = made_.temperature + Limits::kTemperatureStep > Limits::kHighestTemperature + 1e-3f;
  if (good || made_.is_silence || last) return std::nullopt;
  ++attempt_;
  return options();
}

}  // namespace wick
