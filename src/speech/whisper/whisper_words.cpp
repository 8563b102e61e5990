#include "speech/whisper/whisper_words.h"

#include <algorithm>
#include <cmath>

#include "base/ascii.h"
#include "base/utf8.h"

namespace wick {
namespace {

constexpr std::string_view kOpening = "\"'“¿([{-";
constexpr std::string_view kClosing = "\"'.。,，!！?？:：”)]}、";
constexpr std::string_view kPunctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";
constexpr double kLongestMedian = 0.7;  // seconds

// One of the signs, whole.
bool is_one_of(std::string_view text, std::string_view signs) {
  return !text.empty() && signs.find(text) != std::string_view::npos;
}

// Tokens up to the end of a character.
std::vector<WhisperWord> split_characters(std::span<const int32_t> tokens, const Tokenizer& tokenizer) {
  std::vector<WhisperWord> parts;
  WhisperWord part;
  for (size_t i = 0; i < tokens.size(); ++i) {
    part.text += tokenizer.bytes(tokens[i]);
    ++part.count;
    if (!is_utf8(part.text) && i + 1 < tokens.size()) continue;
    if (!is_utf8(part.text)) {
      const std::vector<int> ids(tokens.begin() + static_cast<ptrdiff_t>(part.first), tokens.end());
      part.text = tokenizer.decode(ids);  // with a mark for what is not text
    }
    parts.push_back(std::move(part));
    part = {i + 1, 0, {}};
  }
  return parts;
}

bool ends_sentence(std::string_view text) {
  constexpr std::string_view kEnds[] = {".", "。", "!", "！", "?", "？"};
  return std::any_of(std::begin(kEnds), std::end(kEnds), [&](std::string_view end) { return text.ends_with(end); });
}

void join(WhisperWord& word, const WhisperWord& next) {
  word.text += next.text;
  word.count += next.count;
}

}  // namespace

std::vector<WhisperWord> split_words(std::span<const int32_t> tokens, const Tokenizer& tokenizer, bool has_blanks) {
  std::vector<WhisperWord> words;
  for (const WhisperWord& part : split_characters(tokens, tokenizer)) {
    const bool begins = part.text.starts_with(' ') || is_one_of(trimmed(part.text, " "), kPunctuation);
    const bool opened =
        !words.empty() && words.back().text.starts_with(' ') && is_one_of(trimmed(words.back().text, " "), kOpening);
    const bool closes = !part.text.starts_with(' ') && is_one_of(part.text, kClosing);
    const bool continues = has_blanks && !begins;
    if (!words.empty() && (opened || closes || continues)) {
      join(words.back(), part);
    } else {
      words.push_back(part);
    }
  }
  return words;
}

std::vector<RecognizedWord> time_words(std::span<const WhisperWord> words, std::span<const int64_t> begins,
                                       std::span<const float> logprobs, double seconds) {
  std::vector<RecognizedWord> timed;
  std::vector<double> lengths;
  for (const WhisperWord& word : words) {
    RecognizedWord made;
    made.begin = seconds * static_cast<double>(begins[word.first]);
    made.end = seconds * static_cast<double>(begins[word.first + word.count]);
    made.text = trimmed(word.text, " ");
    double sum = 0;
    for (size_t i = word.first; i < word.first + word.count; ++i) sum += std::exp(static_cast<double>(logprobs[i]));
    made.probability = static_cast<float>(sum / static_cast<double>(word.count));
    if (made.end > made.begin) lengths.push_back(made.end - made.begin);
    timed.push_back(std::move(made));
  }
  if (lengths.empty()) return timed;
  std::nth_element(lengths.begin(), lengths.begin() + static_cast<ptrdiff_t>(lengths.size() / 2), lengths.end());
  const double longest = 2 * std::min(kLongestMedian, lengths[lengths.size() / 2]);
  for (size_t i = 0; i < timed.size(); ++i) {
    RecognizedWord& word = timed[i];
    if (word.end - word.begin <= longest) continue;
    if (ends_sentence(word.text)) {
      word.end = word.begin + longest;  // silence follows it
    } else if (i == 0 || ends_sentence(timed[i - 1].text)) {
      word.begin = word.end - longest;  // silence is before it
    }
  }
  return timed;
}

}  // namespace wick
