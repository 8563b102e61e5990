#include <algorithm>

#include "models/speech/asr_prompt.h"

namespace wick {
namespace {

constexpr AsrLanguage kLanguages[] = {
    {"ar", "Arabic"},   {"cs", "Czech"},      {"da", "Danish"},     {"de", "German"},     {"el", "Greek"},
    {"en", "English"},  {"es", "Spanish"},    {"fa", "Persian"},    {"fi", "Finnish"},    {"fil", "Filipino"},
    {"fr", "French"},   {"hi", "Hindi"},      {"hu", "Hungarian"},  {"id", "Indonesian"}, {"it", "Italian"},
    {"ja", "Japanese"}, {"ko", "Korean"},     {"mk", "Macedonian"}, {"ms", "Malay"},      {"nl", "Dutch"},
    {"pl", "Polish"},   {"pt", "Portuguese"}, {"ro", "Romanian"},   {"ru", "Russian"},    {"sv", "Swedish"},
    {"th", "Thai"},     {"tr", "Turkish"},    {"vi", "Vietnamese"}, {"yue", "Cantonese"}, {"zh", "Chinese"},
};

char small(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_letters(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return small(x) == small(y); });
}

}  // namespace

std::span<const AsrLanguage> asr_languages() { return kLanguages; }

const AsrLanguage* find_asr_language(std::string_view code_or_name) {
  for (const AsrLanguage& language : kLanguages) {
    if (same_letters(language.code, code_or_name) || same_letters(language.name, code_or_name)) return &language;
  }
  return nullptr;
}

}  // namespace wick
