#pragma once

#include <memory>
#include <string>
#include <vector>

#include "speech/whisper/whisper_recognizer.h"
#include "support/model_fixtures.h"
#include "tokenizer/stages/split_pattern.h"

namespace wick {

// The fixture of Whisper with a vocabulary of its own: windows of two seconds, 200 tokens, of which 88 are letters.
inline constexpr int32_t kTinyLetters = 88, kTinyEnd = 88, kTinyStart = 89, kTinyTime = 99;

inline Tokenizer tiny_whisper_tokenizer() {
  static const std::string kBytes = [] {  // " " to "w", one after the other
    std::string bytes;
    for (int32_t i = 0; i < kTinyLetters; ++i) bytes += static_cast<char>(' ' + i);
    return bytes;
  }();
  std::vector<std::string_view> letters;
  for (size_t i = 0; i < kBytes.size(); ++i) letters.push_back(std::string_view(kBytes).substr(i, 1));
  std::vector<AddedToken> added;
  for (const char* name : {"<|endoftext|>", "<|startoftranscript|>", "<|en|>", "<|de|>", "<|fr|>", "<|translate|>",
                           "<|transcribe|>", "<|startoflm|>", "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>"}) {
    AddedToken token;
    token.content = name;
    token.id = kTinyLetters + static_cast<int>(added.size());
    token.special = true;
    added.push_back(std::move(token));
  }
  return Tokenizer::from_ranks(letters, std::move(added), kGpt2Pattern, "tiny");
}

inline WhisperTokens tiny_whisper_tokens(bool english_only = false) {
  return WhisperTokens::find(tiny_whisper_tokenizer(), 200, 101, english_only);
}

inline std::shared_ptr<const WhisperRecognizer> tiny_whisper(const char* generation = "null") {
  return std::make_shared<WhisperRecognizer>("tiny", Whisper::load(family_folder("whisper")), tiny_whisper_tokenizer(),
                                             Json::parse(generation, "generation_config.json"));
}

}  // namespace wick
