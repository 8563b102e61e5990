#include "speech/languages.h"

#include <algorithm>

#include "base/ascii.h"

namespace wick {
namespace {

// Whisper's come first, in the order of their tokens.
constexpr Language kLanguages[] = {
    {"en", "English", Language::kBoth},
    {"zh", "Chinese", Language::kBoth, false, {"Mandarin"}},
    {"de", "German", Language::kBoth},
    {"es", "Spanish", Language::kBoth, true, {"Castilian"}},
    {"ru", "Russian", Language::kBoth},
    {"ko", "Korean", Language::kBoth},
    {"fr", "French", Language::kBoth},
    {"ja", "Japanese", Language::kBoth, false},
    {"pt", "Portuguese", Language::kBoth},
    {"tr", "Turkish", Language::kBoth},
    {"pl", "Polish", Language::kBoth},
    {"ca", "Catalan", Language::kWhisper, true, {"Valencian"}},
    {"nl", "Dutch", Language::kBoth, true, {"Flemish"}},
    {"ar", "Arabic", Language::kBoth},
    {"sv", "Swedish", Language::kBoth},
    {"it", "Italian", Language::kBoth},
    {"id", "Indonesian", Language::kBoth},
    {"hi", "Hindi", Language::kBoth},
    {"fi", "Finnish", Language::kBoth},
    {"vi", "Vietnamese", Language::kBoth},
    {"he", "Hebrew", Language::kWhisper},
    {"uk", "Ukrainian", Language::kWhisper},
    {"el", "Greek", Language::kBoth},
    {"ms", "Malay", Language::kBoth},
    {"cs", "Czech", Language::kBoth},
    {"ro", "Romanian", Language::kBoth, true, {"Moldavian", "Moldovan"}},
    {"da", "Danish", Language::kBoth},
    {"hu", "Hungarian", Language::kBoth},
    {"ta", "Tamil", Language::kWhisper},
    {"no", "Norwegian", Language::kWhisper},
    {"th", "Thai", Language::kBoth, false},
    {"ur", "Urdu", Language::kWhisper},
    {"hr", "Croatian", Language::kWhisper},
    {"bg", "Bulgarian", Language::kWhisper},
    {"lt", "Lithuanian", Language::kWhisper},
    {"la", "Latin", Language::kWhisper},
    {"mi", "Maori", Language::kWhisper},
    {"ml", "Malayalam", Language::kWhisper},
    {"cy", "Welsh", Language::kWhisper},
    {"sk", "Slovak", Language::kWhisper},
    {"te", "Telugu", Language::kWhisper},
    {"fa", "Persian", Language::kBoth},
    {"lv", "Latvian", Language::kWhisper},
    {"bn", "Bengali", Language::kWhisper},
    {"sr", "Serbian", Language::kWhisper},
    {"az", "Azerbaijani", Language::kWhisper},
    {"sl", "Slovenian", Language::kWhisper},
    {"kn", "Kannada", Language::kWhisper},
    {"et", "Estonian", Language::kWhisper},
    {"mk", "Macedonian", Language::kBoth},
    {"br", "Breton", Language::kWhisper},
    {"eu", "Basque", Language::kWhisper},
    {"is", "Icelandic", Language::kWhisper},
    {"hy", "Armenian", Language::kWhisper},
    {"ne", "Nepali", Language::kWhisper},
    {"mn", "Mongolian", Language::kWhisper},
    {"bs", "Bosnian", Language::kWhisper},
    {"kk", "Kazakh", Language::kWhisper},
    {"sq", "Albanian", Language::kWhisper},
    {"sw", "Swahili", Language::kWhisper},
    {"gl", "Galician", Language::kWhisper},
    {"mr", "Marathi", Language::kWhisper},
    {"pa", "Punjabi", Language::kWhisper, true, {"Panjabi"}},
    {"si", "Sinhala", Language::kWhisper, true, {"Sinhalese"}},
    {"km", "Khmer", Language::kWhisper},
    {"sn", "Shona", Language::kWhisper},
    {"yo", "Yoruba", Language::kWhisper},
    {"so", "Somali", Language::kWhisper},
    {"af", "Afrikaans", Language::kWhisper},
    {"oc", "Occitan", Language::kWhisper},
    {"ka", "Georgian", Language::kWhisper},
    {"be", "Belarusian", Language::kWhisper},
    {"tg", "Tajik", Language::kWhisper},
    {"sd", "Sindhi", Language::kWhisper},
    {"gu", "Gujarati", Language::kWhisper},
    {"am", "Amharic", Language::kWhisper},
    {"yi", "Yiddish", Language::kWhisper},
    {"lo", "Lao", Language::kWhisper, false},
    {"uz", "Uzbek", Language::kWhisper},
    {"fo", "Faroese", Language::kWhisper},
    {"ht", "Haitian Creole", Language::kWhisper, true, {"Haitian"}},
    {"ps", "Pashto", Language::kWhisper, true, {"Pushto"}},
    {"tk", "Turkmen", Language::kWhisper},
    {"nn", "Nynorsk", Language::kWhisper},
    {"mt", "Maltese", Language::kWhisper},
    {"sa", "Sanskrit", Language::kWhisper},
    {"lb", "Luxembourgish", Language::kWhisper, true, {"Letzeburgesch"}},
    {"my", "Myanmar", Language::kWhisper, false, {"Burmese"}},
    {"bo", "Tibetan", Language::kWhisper},
    {"tl", "Tagalog", Language::kWhisper},
    {"mg", "Malagasy", Language::kWhisper},
    {"as", "Assamese", Language::kWhisper},
    {"tt", "Tatar", Language::kWhisper},
    {"haw", "Hawaiian", Language::kWhisper},
    {"ln", "Lingala", Language::kWhisper},
    {"ha", "Hausa", Language::kWhisper},
    {"ba", "Bashkir", Language::kWhisper},
    {"jw", "Javanese", Language::kWhisper, true, {"jv"}},
    {"su", "Sundanese", Language::kWhisper},
    {"yue", "Cantonese", Language::kBoth, false},
    {"fil", "Filipino", Language::kQwen3Asr},
};

bool is_called(const Language& language, std::string_view name) {
  const auto same = [&](std::string_view known) { return !known.empty() && same_letters(known, name); };
  return same(language.code) || same(language.name) ||
         std::any_of(std::begin(language.aliases), std::end(language.aliases), same);
}

}  // namespace

std::span<const Language> whisper_languages() {
  const auto end = std::find_if(std::begin(kLanguages), std::end(kLanguages),
                                [](const Language& language) { return !(language.models & Language::kWhisper); });
  return {std::begin(kLanguages), end};
}

std::vector<const Language*> qwen3_asr_languages() {
  std::vector<const Language*> known;
  for (const Language& language : kLanguages) {
    if (language.models & Language::kQwen3Asr) known.push_back(&language);
  }
  std::sort(known.begin(), known.end(), [](const Language* a, const Language* b) { return a->code < b->code; });
  return known;
}

const Language* find_language(std::string_view code_or_name) {
  for (const Language& language : kLanguages) {
    if (is_called(language, code_or_name)) return &language;
  }
  return nullptr;
}

bool writes_blanks(std::string_view code_or_name) {
  const Language* language = find_language(code_or_name);
  return !language || language->has_blanks;
}

}  // namespace wick
