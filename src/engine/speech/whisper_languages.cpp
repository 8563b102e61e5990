#include "engine/speech/whisper_languages.h"

#include <algorithm>

namespace wick {
namespace {

constexpr WhisperLanguage kLanguages[] = {
    {"en", "English"},        {"zh", "Chinese"},       {"de", "German"},    {"es", "Spanish"},    {"ru", "Russian"},
    {"ko", "Korean"},         {"fr", "French"},        {"ja", "Japanese"},  {"pt", "Portuguese"}, {"tr", "Turkish"},
    {"pl", "Polish"},         {"ca", "Catalan"},       {"nl", "Dutch"},     {"ar", "Arabic"},     {"sv", "Swedish"},
    {"it", "Italian"},        {"id", "Indonesian"},    {"hi", "Hindi"},     {"fi", "Finnish"},    {"vi", "Vietnamese"},
    {"he", "Hebrew"},         {"uk", "Ukrainian"},     {"el", "Greek"},     {"ms", "Malay"},      {"cs", "Czech"},
    {"ro", "Romanian"},       {"da", "Danish"},        {"hu", "Hungarian"}, {"ta", "Tamil"},      {"no", "Norwegian"},
    {"th", "Thai"},           {"ur", "Urdu"},          {"hr", "Croatian"},  {"bg", "Bulgarian"},  {"lt", "Lithuanian"},
    {"la", "Latin"},          {"mi", "Maori"},         {"ml", "Malayalam"}, {"cy", "Welsh"},      {"sk", "Slovak"},
    {"te", "Telugu"},         {"fa", "Persian"},       {"lv", "Latvian"},   {"bn", "Bengali"},    {"sr", "Serbian"},
    {"az", "Azerbaijani"},    {"sl", "Slovenian"},     {"kn", "Kannada"},   {"et", "Estonian"},   {"mk", "Macedonian"},
    {"br", "Breton"},         {"eu", "Basque"},        {"is", "Icelandic"}, {"hy", "Armenian"},   {"ne", "Nepali"},
    {"mn", "Mongolian"},      {"bs", "Bosnian"},       {"kk", "Kazakh"},    {"sq", "Albanian"},   {"sw", "Swahili"},
    {"gl", "Galician"},       {"mr", "Marathi"},       {"pa", "Punjabi"},   {"si", "Sinhala"},    {"km", "Khmer"},
    {"sn", "Shona"},          {"yo", "Yoruba"},        {"so", "Somali"},    {"af", "Afrikaans"},  {"oc", "Occitan"},
    {"ka", "Georgian"},       {"be", "Belarusian"},    {"tg", "Tajik"},     {"sd", "Sindhi"},     {"gu", "Gujarati"},
    {"am", "Amharic"},        {"yi", "Yiddish"},       {"lo", "Lao"},       {"uz", "Uzbek"},      {"fo", "Faroese"},
    {"ht", "Haitian Creole"}, {"ps", "Pashto"},        {"tk", "Turkmen"},   {"nn", "Nynorsk"},    {"mt", "Maltese"},
    {"sa", "Sanskrit"},       {"lb", "Luxembourgish"}, {"my", "Myanmar"},   {"bo", "Tibetan"},    {"tl", "Tagalog"},
    {"mg", "Malagasy"},       {"as", "Assamese"},      {"tt", "Tatar"},     {"haw", "Hawaiian"},  {"ln", "Lingala"},
    {"ha", "Hausa"},          {"ba", "Bashkir"},       {"jw", "Javanese"},  {"su", "Sundanese"},  {"yue", "Cantonese"},
};

char small(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_letters(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return small(x) == small(y); });
}

}  // namespace

std::span<const WhisperLanguage> whisper_languages() { return kLanguages; }

const WhisperLanguage* find_whisper_language(std::string_view code_or_name) {
  for (const WhisperLanguage& language : kLanguages) {
    if (same_letters(language.code, code_or_name) || same_letters(language.name, code_or_name)) return &language;
  }
  return nullptr;
}

}  // namespace wick
