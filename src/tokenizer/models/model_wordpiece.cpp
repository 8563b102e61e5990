#include "tokenizer/models/model_wordpiece.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "tokenizer/models/word_cache.h"
#include "tokenizer/stages/code_points.h"

namespace wick {

WordPieceModel::WordPieceModel(const Vocabulary& vocabulary, std::string_view continuing_prefix, int unknown_id,
                               int64_t max_characters)
    : unknown_id_(unknown_id), max_characters_(max_characters), owner_(WordCache::new_owner()) {
  for (int id = 0; id < vocabulary.size(); ++id) {
    if (!vocabulary.has(id) || vocabulary.is_hidden(id)) continue;
    const std::string_view piece = vocabulary.piece(id);
    starts_.add(piece, id);
    if (piece.starts_with(continuing_prefix)) continuations_.add(piece.substr(continuing_prefix.size()), id);
  }
}

bool WordPieceModel::encode_word(std::string_view word, uint32_t base, TokenSink& sink) const {
  const auto characters = std::count_if(word.begin(), word.end(), is_utf8_start);
  if (characters > max_characters_) return false;
  for (uint32_t at = 0; at < word.size();) {
    const ByteTrie::Found found = (at == 0 ? starts_ : continuations_).longest(word.substr(at));
    if (found.value == ByteTrie::kNone || found.bytes == 0) return false;
    sink.add(found.value, base + at, base + at + found.bytes);
    at += found.bytes;
  }
  return true;
}

void WordPieceModel::encode(std::string_view text, std::span<const Span> pieces, TokenSink& sink) const {
  WordCache& cache = WordCache::of_this_thread();
  std::vector<Span> spans;
  for (const Span range : pieces) {
    const std::string_view word = text.substr(range.begin, range.size());
    WordCache::Entry* const entry = word.size() <= WordCache::kMaxBytes ? &cache.place(owner_, word) : nullptr;
    if (entry && WordCache::holds(*entry, owner_, word)) {
      WordCache::write(*entry, range.begin, sink);
      continue;
    }
    const size_t first = sink.ids.size();
    spans.clear();
    TokenSink found{sink.ids, &spans};
    if (!encode_word(word, range.begin, found)) {
      if (unknown_id_ == Vocabulary::kNone) {
        throw Error(ErrorCode::kInvalidArgument,
                    cat("the tokenizer has no tokens for ", in_quotes(word), " and none for the unknown"));
      }
      sink.ids.resize(first);
      spans.clear();
      found.add(unknown_id_, range.begin, range.end);
    }
    if (sink.spans) sink.spans->insert(sink.spans->end(), spans.begin(), spans.end());
    if (entry && spans.size() <= WordCache::kMaxTokens) {
      WordCache::start(*entry, owner_, word);
      for (size_t i = 0; i < spans.size(); ++i) WordCache::add(*entry, sink.ids[first + i], spans[i].size());
    }
  }
}

}  // namespace wick
