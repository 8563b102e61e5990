#include "tokenizer/models/model_rwkv.h"

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"

namespace wick {

RwkvModel::RwkvModel(const Vocabulary& vocabulary, int unknown_id) : unknown_id_(unknown_id) {
  for (int id = 0; id < vocabulary.size(); ++id) {
    if (vocabulary.has(id) && !vocabulary.is_hidden(id) && !vocabulary.piece(id).empty())
      trie_.add(vocabulary.piece(id), id);
  }
}

void RwkvModel::encode(std::string_view text, std::span<const Span> pieces, TokenSink& sink) const {
  for (const Span range : pieces) {
    for (uint32_t at = range.begin; at < range.end;) {
      const ByteTrie::Found found = trie_.longest(text.substr(at, range.end - at));
      if (found.value == ByteTrie::kNone && unknown_id_ == Vocabulary::kNone) {
        throw Error(ErrorCode::kInvalidArgument, cat("the tokenizer has no token for the byte ",
                                                     in_quotes(text.substr(at, 1)), " and none for the unknown"));
      }
      const uint32_t bytes = found.value == ByteTrie::kNone ? 1 : found.bytes;
      sink.add(found.value == ByteTrie::kNone ? unknown_id_ : found.value, at, at + bytes);
      at += bytes;
    }
  }
}

}  // namespace wick
