#include "speech/transcript.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/utf8.h"
#include "tokenizer/stages/code_points.h"

namespace wick {
namespace {

constexpr std::string_view kTag = "<asr_text>", kLanguage = "language ", kNone = "None";
constexpr size_t kLongestPattern = 20, kMostRepeats = 20;

// How long the run at `at` is that repeats its first `period` characters.
size_t run_length(std::u32string_view text, size_t at, size_t period) {
  size_t end = at + period;
  while (end < text.size() && text[end] == text[end - period]) ++end;
  return end - at;
}

std::string without_repeats(std::string_view text) {
  const std::string valid = replace_invalid_utf8(text);
  std::u32string letters;
  for (size_t at = 0; at < valid.size();) {
    const CodePoint letter = code_point_at(valid, at);
    letters.push_back(letter.value);
    at += letter.bytes;
  }
  std::string kept;
  for (size_t at = 0; at < letters.size();) {
    size_t skipped = 0;
    for (size_t period = 1; period <= kLongestPattern && at + period < letters.size() && skipped == 0; ++period) {
      const size_t repeats = run_length(letters, at, period) / period;
      if (repeats > kMostRepeats) skipped = (repeats - 1) * period;
    }
    at += skipped;
    append_utf8(kept, letters[at++]);
  }
  return kept;
}

// "language English" to "English"; empty when the model says None or something else.
std::string language_of(std::string_view said) {
  said = trimmed(said);
  if (!said.starts_with(kLanguage)) return {};
  said = trimmed(said.substr(kLanguage.size()));
  return said == kNone ? std::string() : std::string(said);
}

}  // namespace

Transcript read_transcript(std::string_view generated, const Language* forced) {
  Transcript transcript;
  if (forced) transcript.language = forced->name;
  std::string_view text = generated;
  if (const size_t tag = generated.find(kTag); tag != std::string_view::npos) {
    if (!forced) transcript.language = language_of(generated.substr(0, tag));
    text = generated.substr(tag + kTag.size());
  } else if (!forced && trimmed(generated) == std::string(kLanguage) + std::string(kNone)) {
    text = {};  // the model ended before the tag
  }
  std::string plain(text);
  for (size_t tag = plain.find(kTag); tag != std::string::npos; tag = plain.find(kTag)) plain.erase(tag, kTag.size());
  transcript.text = without_repeats(trimmed(plain));
  return transcript;
}

Transcript read_begun_transcript(std::string_view generated, const Language* forced) {
  if (!forced && generated.find(kTag) == std::string_view::npos) return {};
  return read_transcript(generated, forced);
}

}  // namespace wick
