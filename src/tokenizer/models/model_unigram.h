#pragma once

#include <array>
#include <cstdint>

#include "tokenizer/models/byte_trie.h"
#include "tokenizer/models/token_model.h"
#include "tokenizer/vocabulary.h"

namespace wick {

// Cuts a piece so that the sum of the scores is largest (Viterbi). Neighbouring unknown characters make one token, or,
// with byte fallback, one token a byte.
class UnigramModel : public TokenModel {
 public:
  struct Options {
    int unknown_id = Vocabulary::kNone;
    bool byte_fallback = false;
  };
  // scores[id]; NaN keeps a piece from being used. Throws Error(kBadFile) naming `place`.
  UnigramModel(const Vocabulary& vocabulary, std::vector<double> scores, Options options, const std::string& place);
  void encode(std::string_view text, std::span<const Span> pieces, TokenSink& sink) const override;

 private:
  void encode_piece(std::string_view piece, uint32_t base, TokenSink& sink) const;
  void add_unknown(std::string_view piece, uint32_t begin, uint32_t end, uint32_t base, TokenSink& sink) const;

  ByteTrie trie_;
  std::vector<double> scores_;
  Options options_;
  double unknown_score_ = 0;
  std::array<int, 256> byte_ids_{};
  bool has_all_bytes_ = false;
};

}  // namespace wick
