#include "tokenizer/models/model_wordlevel.h"

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"

namespace wick {

void WordLevelModel::encode(std::string_view text, std::span<const Span> pieces, TokenSink& sink) const {
  for (const Span range : pieces) {
    const std::string_view piece = text.substr(range.begin, range.size());
    int id = vocabulary_->find_visible(piece);
    if (id == Vocabulary::kNone) id = unknown_id_;
    if (id == Vocabulary::kNone) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat("the tokenizer has no token for ", in_quotes(piece), " and none for the unknown"));
    }
    sink.add(id, range.begin, range.end);
  }
}

}  // namespace wick
