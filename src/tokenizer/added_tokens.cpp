#include "tokenizer/added_tokens.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "tokenizer/stages/code_points.h"

namespace wick {
namespace {

bool is_word_character(char32_t c) {
  // Letters, marks, digits, connecting punctuation and the zero-width joiners.
  if (c == '_' || c == 0x200C || c == 0x200D || c == 0x203F || c == 0x2040 || c == 0x2054 || c == 0xFF3F) return true;
  return (char_sets_of(c) & (kLetters | kMarks | kNumbers)) != 0;
}

bool touches_word(std::string_view text, Span bytes) {
  if (bytes.begin > 0 && is_word_character(code_point_at(text, previous_start(text, bytes.begin)).value)) return true;
  return bytes.end < text.size() && is_word_character(code_point_at(text, bytes.end).value);
}

bool is_blank_at(std::string_view text, size_t at) { return char_sets_of(code_point_at(text, at).value) & kSpaces; }

}  // namespace

void AddedTokens::add(AddedToken token, std::string_view pattern) {
  if (!pattern.empty()) {
    const int index = static_cast<int>(tokens_.size());
    (token.normalized ? normalized_ : plain_).add(pattern, index);
    (token.normalized ? normalized_starts_ : plain_starts_)[static_cast<unsigned char>(pattern[0])] = true;
  }
  tokens_.push_back(std::move(token));
}

std::vector<AddedTokens::Part> AddedTokens::cut(std::string_view text, bool in_normalized, SpecialTokens special,
                                                FunctionRef<bool(Span)> broken) const {
  std::vector<Part> parts;
  const ByteTrie& trie = in_normalized ? normalized_ : plain_;
  const bool* starts = in_normalized ? normalized_starts_ : plain_starts_;
  const auto size = static_cast<uint32_t>(text.size());
  uint32_t done = 0;
  for (uint32_t at = 0; at < size && !trie.empty();) {
    if (!starts[static_cast<unsigned char>(text[at])]) {
      ++at;
      continue;
    }
    const ByteTrie::Found found = trie.longest(text.substr(at));
    if (found.value == ByteTrie::kNone) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[static_cast<size_t>(found.value)];
    Span bytes{at, at + found.bytes};
    if (token.special && broken(bytes)) {
      ++at;
      continue;
    }
    at = bytes.end;
    if (token.special && special == SpecialTokens::kAsText) continue;
    if (token.single_word && touches_word(text, bytes)) continue;
    if (token.special && special == SpecialTokens::kForbid) {
      throw Error(ErrorCode::kInvalidArgument, cat("the text holds the control token ", in_quotes(token.content),
                                                   " at byte ", bytes.begin, ", which is not allowed here"));
    }
    if (token.lstrip) {
      while (bytes.begin > done) {
        const auto before = static_cast<uint32_t>(previous_start(text, bytes.begin));
        if (!is_blank_at(text, before)) break;
        bytes.begin = before;
      }
    }
    if (token.rstrip) {
      while (bytes.end < size && is_blank_at(text, bytes.end)) bytes.end += code_point_at(text, bytes.end).bytes;
    }
    if (done < bytes.begin) parts.push_back({{done, bytes.begin}, nullptr});
    parts.push_back({bytes, &token});
    done = bytes.end;
    at = std::max(at, done);
  }
  if (done < size) parts.push_back({{done, size}, nullptr});
  return parts;
}

}  // namespace wick
