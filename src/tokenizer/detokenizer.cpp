#include "tokenizer/detokenizer.h"

#include "tokenizer/tokenizer_parts.h"

namespace wick {

Detokenizer::Detokenizer(Tokenizer tokenizer, bool skip_special)
    : tokenizer_(std::move(tokenizer)), skip_special_(skip_special), chain_(tokenizer_.parts_->decoders) {}

std::string Detokenizer::push(int id) {
  std::string text;
  if (!tokenizer_.has(id) || (skip_special_ && tokenizer_.is_special(id))) return text;
  chain_.push(tokenizer_.decoded_piece(id), text);
  return text;
}

std::string Detokenizer::finish() {
  std::string text;
  chain_.finish(text);
  chain_ = DecodeChain(tokenizer_.parts_->decoders);
  return text;
}

}  // namespace wick
