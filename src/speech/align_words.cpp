#include "speech/align_words.h"

#include <algorithm>

#include "base/utf8.h"
#include "tokenizer/stages/code_points.h"

namespace wick {
namespace {

constexpr int64_t kNearby = 2;  // so many wrong times in a row become the nearer neighbour

bool is_one_word(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F) || (c >= 0x3041 && c <= 0x30FF);
}

bool is_spoken(char32_t c) { return c == '\'' || (char_sets_of(c) & (kLetters | kNumbers)) != 0 || is_one_word(c); }

// Which times form the longest sequence that never falls; of several, the one that ends first.
std::vector<bool> in_longest_rise(const std::vector<double>& times) {
  const size_t count = times.size();
  std::vector<size_t> length(count, 1), before(count, count);
  size_t last = 0;
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (times[j] > times[i] || length[j] + 1 <= length[i]) continue;
      length[i] = length[j] + 1;
      before[i] = j;
    }
    if (length[i] > length[last]) last = i;
  }
  std::vector<bool> chosen(count);
  for (size_t i = last; i < count; i = before[i]) chosen[i] = true;
  return chosen;
}

}  // namespace

std::vector<AlignWord> split_for_alignment(std::string_view given) {
  const std::string text = is_utf8(given) ? std::string(given) : replace_invalid_utf8(given);
  std::vector<AlignWord> words;
  AlignWord open;
  bool is_joined = false;  // no blank stands before the open word
  const auto close = [&] {
    if (!open.spoken.empty()) {
      words.push_back(open);
    } else if (is_joined && !words.empty()) {
      words.back().text += open.text;  // punctuation behind it; what stands alone is left out
    }
    open = {};
  };
  for (size_t at = 0; at < text.size();) {
    const CodePoint letter = code_point_at(text, at);
    const std::string_view bytes = std::string_view(text).substr(at, letter.bytes);
    at += letter.bytes;
    if (char_sets_of(letter.value) & kSpaces) {
      close();
      is_joined = false;
    } else if (is_one_word(letter.value)) {
      close();
      open = {std::string(bytes), std::string(bytes)};
      close();
      is_joined = true;
    } else {
      open.text += bytes;
      if (is_spoken(letter.value)) open.spoken += bytes;
    }
  }
  close();
  return words;
}

std::vector<double> rising_times(std::vector<double> times) {
  if (times.empty()) return times;
  const std::vector<bool> right = in_longest_rise(times);
  const auto count = static_cast<int64_t>(times.size());
  for (int64_t begin = 0; begin < count;) {
    int64_t end = begin;
    while (end < count && !right[static_cast<size_t>(end)]) ++end;
    const int64_t wrong = end - begin;
    const bool has_left = begin > 0, has_right = end < count;
    const double left = has_left ? times[static_cast<size_t>(begin - 1)] : times[static_cast<size_t>(end % count)];
    const double next = has_right ? times[static_cast<size_t>(end)] : left;
    for (int64_t i = begin; i < end; ++i) {
      const double step = (next - left) / static_cast<double>(wrong + 1);
      const double nearer = i - begin + 1 <= end - i ? left : next;
      times[static_cast<size_t>(i)] = wrong <= kNearby ? nearer : left + step * static_cast<double>(i - begin + 1);
    }
    begin = std::max(end, begin + 1);
  }
  return times;
}

}  // namespace wick
