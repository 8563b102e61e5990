#pragma once

#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "speech/qwen3_asr/qwen3_asr.h"
#include "speech/recognition.h"
#include "tokenizer/tokenizer.h"

namespace wick {

// Finds out when each word of a text is said: Qwen3-ForcedAligner. Immutable: any number of threads may use it.
class ForcedAligner {
 public:
  // Throws Error(kUnsupported) for a model that writes text instead.
  static std::shared_ptr<const ForcedAligner> load(const std::filesystem::path& path, const ModelOptions& options = {});
  ForcedAligner(std::unique_ptr<Qwen3Asr> model, Tokenizer tokenizer);

  // mel as LogMelOptions::qwen3_asr() makes it, at most kLongest seconds of it. Times rise from word to word.
  std::vector<RecognizedWord> align(const Tensor& mel, std::string_view text) const;
  static constexpr double kLongest = 180;

 private:
  std::unique_ptr<Qwen3Asr> model_;
  Tokenizer tokenizer_;
  int32_t audio_begin_, audio_end_;
};

}  // namespace wick
