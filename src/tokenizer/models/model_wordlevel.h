#pragma once

#include "tokenizer/models/token_model.h"
#include "tokenizer/vocabulary.h"

namespace wick {

// One token a piece; what is not in the vocabulary is unknown. unknown_id may be Vocabulary::kNone.
class WordLevelModel : public TokenModel {
 public:
  WordLevelModel(std::shared_ptr<const Vocabulary> vocabulary, int unknown_id)
      : vocabulary_(std::move(vocabulary)), unknown_id_(unknown_id) {}
  void encode(std::string_view text, std::span<const Span> pieces, TokenSink& sink) const override;

 private:
  std::shared_ptr<const Vocabulary> vocabulary_;
  int unknown_id_;
};

}  // namespace wick
