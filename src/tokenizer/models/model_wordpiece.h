#pragma once

#include <string>

#include "tokenizer/models/byte_trie.h"
#include "tokenizer/models/token_model.h"
#include "tokenizer/vocabulary.h"

namespace wick {

// The longest known start of a word, then the longest known continuation, and so on; a word that cannot be covered is
// unknown as a whole.
class WordPieceModel : public TokenModel {
 public:
  WordPieceModel(const Vocabulary& vocabulary, std::string_view continuing_prefix, int unknown_id,
                 int64_t max_characters);
  void encode(std::string_view text, std::span<const Span> pieces, TokenSink& sink) const override;

 private:
  bool encode_word(std::string_view word, uint32_t base, TokenSink& sink) const;

  ByteTrie starts_, continuations_;
  int unknown_id_;
  int64_t max_characters_;
  uint32_t owner_;  // in the cache of words
};

}  // namespace wick
