#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include "tokenizer/models/token_model.h"

namespace wick {

// Words seen lately and their tokens: one table of fixed size per thread, shared by all tokenizers. A word has one
// place; a newer one takes it over.
class WordCache {
 public:
  static constexpr size_t kMaxBytes = 26;
  static constexpr size_t kMaxTokens = 6;

  struct alignas(64) Entry {
    uint32_t owner = 0;  // 0: empty
    uint8_t bytes = 0;
    uint8_t tokens = 0;
    std::array<char, kMaxBytes> word;
    std::array<int32_t, kMaxTokens> ids;
    std::array<uint8_t, kMaxTokens> lengths;  // of the tokens, in bytes of the word
  };
  static_assert(sizeof(Entry) == 64, "one cache line");

  static WordCache& of_this_thread();
  // A number for a model, never given twice.
  static uint32_t new_owner();

  // The word's place, whatever is in it; word.size() <= kMaxBytes.
  Entry& place(uint32_t owner, std::string_view word);
  static bool holds(const Entry& entry, uint32_t owner, std::string_view word) {
    return entry.owner == owner && std::string_view(entry.word.data(), entry.bytes) == word;
  }
  // The tokens of a word that starts at `at`.
  static void write(const Entry& entry, uint32_t at, TokenSink& sink) {
    for (size_t token = 0; token < entry.tokens; ++token) {
      sink.add(entry.ids[token], at, at + entry.lengths[token]);
      at += entry.lengths[token];
    }
  }
  // A new word, then its tokens, at most kMaxTokens; together they cover it.
  static void start(Entry& entry, uint32_t owner, std::string_view word) {
    entry.owner = owner;
    entry.bytes = static_cast<uint8_t>(word.size());
    entry.tokens = 0;
    std::memcpy(entry.word.data(), word.data(), word.size());
  }
  static void add(Entry& entry, int id, uint32_t bytes) {
    entry.ids[entry.tokens] = id;
    entry.lengths[entry.tokens++] = static_cast<uint8_t>(bytes);
  }

 private:
  static constexpr size_t kEntries = size_t{1} << 14;
  WordCache() : entries_(std::make_unique<Entry[]>(kEntries)) {}
  std::unique_ptr<Entry[]> entries_;
};

}  // namespace wick
