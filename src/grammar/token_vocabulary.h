#pragma once

#include <bitset>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/automaton/run_index.h"

namespace wick {

// The bytes of every token, arranged for finding those that fit a grammar. Immutable, thread-safe; made once per model
// and shared by all its grammars.
class TokenVocabulary {
 public:
  // token_bytes[i] is what token i adds to the text, as bytes (not necessarily whole characters). `special` tokens are
  // never part of constrained text; `end` tokens end it. Both may lie beyond token_bytes, if an id is within
  // [0, 2^24). A token without bytes is never allowed either: it would make no progress.
  // Throws Error(kInvalidArgument) for other ids.
  TokenVocabulary(std::vector<std::string> token_bytes, std::span<const int> special, std::span<const int> end);
  TokenVocabulary(const TokenVocabulary&) = delete;
  TokenVocabulary& operator=(const TokenVocabulary&) = delete;

  int size() const { return size_; }  // one more than the highest id
  bool is_end(int token) const {
    return token >= 0 && token < size_ && kinds_[static_cast<size_t>(token)] == Kind::kEnd;
  }
  // The bytes of a token that may be part of constrained text; empty for all others and for ids that do not exist.
  std::string_view text(int token) const;

  // Below: for the grammar engine.

  // A node of the tree of all texts, in depth-first order. Node 0 is the root, the empty text.
  struct Node {
    uint32_t subtree_end = 0;   // the first node that is not below this one
    uint32_t tokens_begin = 0;  // into sorted_tokens(): first those of this very text, then those below
    uint16_t depth = 0;
    uint8_t byte = 0;  // that leads here
  };
  // What the bytes strictly below a node are, if the node stands between two characters.
  struct Below {
    std::bitset<128> ascii;
    bool is_utf8 = false;         // nothing but characters, the last perhaps cut off
    bool has_others = false;      // characters beyond ASCII
    uint16_t max_characters = 0;  // on the longest way
  };
  std::span<const Node> nodes() const { return nodes_; }  // a last one, behind all, holds the count of tokens
  const Below& below(uint32_t node) const { return below_[node]; }
  std::span<const uint32_t> sorted_tokens() const { return sorted_; }                 // by text
  std::span<const uint16_t> sorted_characters() const { return sorted_characters_; }  // that begin in each of them
  std::span<const uint32_t> text_bits() const { return text_bits_; }  // a bit per token in sorted_tokens()
  std::span<const uint32_t> end_tokens() const { return end_; }
  std::shared_ptr<const grammar::RunIndex> run_index(const grammar::RunCharacters& characters) const;

 private:
  enum class Kind : uint8_t { kText, kSpecial, kEnd };
  void sort_tokens();
  void build_nodes();
  void summarise();

  int size_ = 0;
  std::vector<std::string> bytes_;
  std::vector<Kind> kinds_;
  std::vector<uint32_t> end_;
  std::vector<uint32_t> sorted_;
  std::vector<uint16_t> sorted_characters_;
  std::vector<uint32_t> text_bits_;
  std::vector<Node> nodes_;
  std::vector<Below> below_;
  std::unique_ptr<grammar::RunIndexes> run_indexes_ = std::make_unique<grammar::RunIndexes>();
};

}  // namespace wick
