#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace wick {

// A language that a speech model knows.
struct Language {
  enum Models : uint8_t { kWhisper = 1, kQwen3Asr = 2, kBoth = 3 };

  std::string_view code;             // "en", as in Whisper's token <|en|>
  std::string_view name;             // "English", as Qwen3-ASR writes it
  uint8_t models;                    // those that know it
  bool has_blanks = true;            // between words
  std::string_view aliases[2] = {};  // other names and codes
};

// In the order of their tokens. Models before large-v3 have all but the last.
std::span<const Language> whisper_languages();
// In the order of their codes.
std::vector<const Language*> qwen3_asr_languages();

// By code, name or alias, in small or capital letters; null when no model knows it.
const Language* find_language(std::string_view code_or_name);
// Whether the language puts blanks between words, which those that are not known do.
bool writes_blanks(std::string_view code_or_name);

}  // namespace wick
