#include "speech/voice.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "formats/checkpoint.h"
#include "speech/qwen3_tts/qwen3_voice.h"

namespace wick {
namespace {

constexpr std::string_view kAsciiEnds = ".!?;:\n";
constexpr std::string_view kWideEnds[] = {"。", "！", "？", "；", "…"};
// Behind these a point does not end a sentence.
constexpr std::string_view kAbbreviations[] = {"mr",  "mrs", "ms",  "dr",  "prof", "st", "vs",
                                               "etc", "e.g", "i.e", "z.b", "bzw",  "nr", "no"};

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

bool has_words(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80);
  });
}

bool is_abbreviation(std::string_view before) {
  const size_t blank = before.find_last_of(" \n\t");
  std::string word(before.substr(blank == std::string_view::npos ? 0 : blank + 1));
  std::transform(word.begin(), word.end(), word.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return std::find(std::begin(kAbbreviations), std::end(kAbbreviations), word) != std::end(kAbbreviations);
}

// The bytes of an end of sentence that begins at `at`; 0: there is none.
size_t end_at(std::string_view text, size_t at) {
  for (const std::string_view end : kWideEnds) {
    if (text.substr(at).starts_with(end)) return end.size();
  }
  const char c = text[at];
  if (kAsciiEnds.find(c) == std::string_view::npos) return 0;
  if (c == '\n') return 1;
  size_t end = at + 1;  // "?!", and a quotation mark behind it
  while (end < text.size() && (kAsciiEnds.substr(0, 5).find(text[end]) != std::string_view::npos || text[end] == '"' ||
                               text[end] == ')' || text[end] == '\'')) {
    ++end;
  }
  if (end < text.size() && !is_blank(text[end])) return 0;  // "3.5", "wick.cpp"
  if (c == '.' && is_abbreviation(text.substr(0, at))) return 0;
  return end - at;
}

std::string_view trimmed_view(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// The largest cut of at most `most` bytes: behind a comma, a blank, or at least a letter.
size_t cut_of(std::string_view text, size_t most) {
  const std::string_view front = text.substr(0, most);
  for (const std::string_view at : {std::string_view(","), std::string_view(" ")}) {
    const size_t found = front.rfind(at);
    if (found != std::string_view::npos && found > most / 2) return found + 1;
  }
  size_t cut = most;
  while (cut > 1 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) --cut;
  return cut;
}

}  // namespace

std::vector<std::string> speakable_pieces(std::string_view text, size_t least, size_t most) {
  std::vector<std::string_view> sentences;
  size_t begin = 0;
  const auto add = [&](size_t end) {
    std::string_view sentence = trimmed_view(text.substr(begin, end - begin));
    begin = end;
    while (sentence.size() > most) {
      const size_t cut = cut_of(sentence, most);
      sentences.push_back(trimmed_view(sentence.substr(0, cut)));
      sentence = trimmed_view(sentence.substr(cut));
    }
    if (!sentence.empty()) sentences.push_back(sentence);
  };
  for (size_t at = 0; at < text.size();) {
    const size_t end = end_at(text, at);
    at += std::max<size_t>(end, 1);
    if (end > 0) add(at);
  }
  add(text.size());
  std::vector<std::string> pieces;
  for (const std::string_view sentence : sentences) {
    const bool joins = !pieces.empty() && pieces.back().size() < least && pieces.back().size() + sentence.size() < most;
    if (joins) {
      pieces.back() += cat(" ", sentence);
    } else {
      pieces.emplace_back(sentence);
    }
  }
  std::erase_if(pieces, [](const std::string& piece) { return !has_words(piece); });
  return pieces;
}

bool is_voice(const std::filesystem::path& path) { return is_qwen3_tts(Checkpoint::open(path).config()); }

std::shared_ptr<const SpeechSynthesizer> load_voice(const std::filesystem::path& path, const ModelOptions& options) {
  const Checkpoint checkpoint = Checkpoint::open(path);
  const Json& config = checkpoint.config();
  if (is_qwen3_tts(config)) return std::make_shared<Qwen3Voice>(path, options);
  const Json* type = config.is_object() ? config.find("model_type") : nullptr;
  throw Error(ErrorCode::kUnsupported,
              cat(path, ": ", type && type->is_text() ? cat("a model of the type ", type->as_text()) : "a file",
                  " that does not speak; Qwen3-TTS models do"));
}

}  // namespace wick
