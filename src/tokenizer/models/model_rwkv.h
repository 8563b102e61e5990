#pragma once

#include "tokenizer/models/byte_trie.h"
#include "tokenizer/models/token_model.h"
#include "tokenizer/vocabulary.h"

namespace wick {

// RWKV's "world" tokenizer: always the longest token that fits, byte by byte.
class RwkvModel : public TokenModel {
 public:
  // The vocabulary holds raw bytes. unknown_id may be Vocabulary::kNone.
  RwkvModel(const Vocabulary& vocabulary, int unknown_id);
  void encode(std::string_view text, std::span<const Span> pieces, TokenSink& sink) const override;

 private:
  ByteTrie trie_;
  int unknown_id_;
};

}  // namespace wick
