#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/grammar.h"

namespace wick {

// A small vocabulary of the awkward kind: single bytes, pieces of JSON, halves of characters, a token twice, one
// without bytes, a special one whose text looks harmless, and an end token.
struct SampleVocabulary {
  std::vector<std::string> bytes;
  int special = 0;
  int end = 0;
  std::shared_ptr<const TokenVocabulary> tokens;
};

inline SampleVocabulary make_vocabulary(std::vector<std::string> more = {}) {
  SampleVocabulary vocabulary;
  for (int byte = 0; byte < 256; ++byte) vocabulary.bytes.emplace_back(1, static_cast<char>(byte));
  for (const char* piece :
       {"\"",   "\":",   "\": ",  "\",",   "\", \"",   "\"}",      "{\"",        "{}",      "[]",  "},",
        "}]",   "true",  "false", "null",  "nu",       "ll",       "  ",         "    ",    "\n",  "\n  ",
        "abc",  "ab",    "bca",   "hello", " world",   "12",       "345",        "0.",      ".5",  "e+",
        "-1",   "\\n",   "\\u",   "00e9",  "\\\"",     "é",        "\xC3",       "\xA9",    "中",  "\xE4\xB8",
        "\xAD", "中文",  "😀",     "😀😀",    "\xF0\x9F", "\x98\x80", "a中",        "中\xE6",  "ab",  "",
        "name", "value", "age",   "a\"b",  "a\",\"",   "x\\ny",    "aaaaaaaaaa", "bbbbbbb", "ccc", "1-"}) {
    vocabulary.bytes.emplace_back(piece);
  }
  for (std::string& piece : more) vocabulary.bytes.push_back(std::move(piece));
  vocabulary.special = static_cast<int>(vocabulary.bytes.size());
  vocabulary.bytes.emplace_back("a");
  vocabulary.end = static_cast<int>(vocabulary.bytes.size());
  vocabulary.bytes.emplace_back("b");
  vocabulary.tokens = std::make_shared<const TokenVocabulary>(vocabulary.bytes, std::vector<int>{vocabulary.special},
                                                              std::vector<int>{vocabulary.end});
  return vocabulary;
}

inline bool matches(const Grammar& grammar, std::string_view text) {
  static const SampleVocabulary kVocabulary = make_vocabulary();
  GrammarState state(grammar, kVocabulary.tokens);
  return state.accept_bytes(text) && state.is_complete();
}

inline std::vector<int> allowed_tokens(GrammarState& state, const SampleVocabulary& vocabulary) {
  std::vector<uint32_t> bits((vocabulary.bytes.size() + 31) / 32);
  state.mask(bits);
  std::vector<int> allowed;
  for (size_t i = 0; i < vocabulary.bytes.size(); ++i) {
    if (bits[i / 32] >> (i % 32) & 1) allowed.push_back(static_cast<int>(i));
  }
  return allowed;
}

// A text made by picking allowed tokens at random; hurries to the end after a while. Empty when there is no end in
// sight.
inline std::optional<std::string> sample(const Grammar& grammar, const SampleVocabulary& vocabulary,
                                         std::mt19937& random) {
  GrammarState state(grammar, vocabulary.tokens);
  std::string text;
  for (int step = 0; step < 600; ++step) {
    const std::vector<int> allowed = allowed_tokens(state, vocabulary);
    if (allowed.empty()) return std::nullopt;
    int token = allowed[random() % allowed.size()];
    const auto is_allowed = [&](int id) { return std::find(allowed.begin(), allowed.end(), id) != allowed.end(); };
    if (is_allowed(vocabulary.end) && (step > 30 || random() % 4 == 0)) token = vocabulary.end;
    if (step > 30 && token != vocabulary.end) {
      for (const char mark : {'"', ']', '}', ':', ','}) {
        if (is_allowed(mark) && (mark != ',' || random() % 4 == 0)) {
          token = mark;
          break;
        }
      }
    }
    if (!state.accept(token)) return std::nullopt;
    if (token == vocabulary.end) return text;
    text += vocabulary.bytes[static_cast<size_t>(token)];
  }
  return std::nullopt;
}

}  // namespace wick
