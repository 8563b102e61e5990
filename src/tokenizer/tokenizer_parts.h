#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tokenizer/added_tokens.h"
#include "tokenizer/models/token_model.h"
#include "tokenizer/stages/decoders.h"
#include "tokenizer/stages/normalizers.h"
#include "tokenizer/stages/postprocessors.h"
#include "tokenizer/stages/pretokenizers.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_document.h"
#include "tokenizer/vocabulary.h"

namespace wick {

// What a tokenizer is made of; readers fill it, then it does not change.
struct TokenizerParts {
  // How a piece stands for bytes.
  enum class PieceKind : uint8_t { kText, kByteLetters, kRawBytes, kMarked };

  std::shared_ptr<Vocabulary> vocabulary;
  AddedTokens added;
  NormalizerPtr normalizer;      // null: none
  PreTokenizerPtr pretokenizer;  // null: none
  TokenModelPtr model;
  PostProcessor postprocessor;
  std::vector<DecoderPtr> decoders;
  PieceKind piece_kind = PieceKind::kText;

  SpecialIds special_ids;
  std::optional<Truncation> truncation;
  std::optional<Padding> padding;

  std::vector<bool> special;                        // by id: a control token
  std::vector<bool> is_added;                       // by id: in `added`
  std::unordered_map<int, std::string> decoded_as;  // added tokens whose normalised form is decoded

  // Adds a token that is cut out of texts. Its id is new, or that of the same piece in the vocabulary; `place` names
  // the file. Throws Error(kBadFile) when the id belongs to another piece.
  void add_token(AddedToken token, const std::string& place);
};

// What a tokenizer.json describes. Throws Error(kBadFile) naming the field at fault.
std::shared_ptr<const TokenizerParts> tokenizer_parts(const TokenizerDocument& document);

}  // namespace wick
