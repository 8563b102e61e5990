#pragma once

#include <span>
#include <string_view>

namespace wick {

struct WhisperLanguage {
  std::string_view code;  // "en", as in the token <|en|>
  std::string_view name;  // "English"
};
// In the order of their tokens. Models before large-v3 have all but the last.
std::span<const WhisperLanguage> whisper_languages();
// By code or name, in small or capital letters; null when there is none.
const WhisperLanguage* find_whisper_language(std::string_view code_or_name);

}  // namespace wick
