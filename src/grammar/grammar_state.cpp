#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "grammar/automaton/match_cache.h"
#include "grammar/grammar.h"
#include "grammar/mask_walk.h"

namespace wick {

GrammarState::GrammarState(Grammar grammar, std::shared_ptr<const TokenVocabulary> vocabulary)
    : grammar_(std::move(grammar)), vocabulary_(std::move(vocabulary)) {
  cache_ = grammar_.compiled_->cache_for(vocabulary_);
  state_ = cache_->start();
}

bool GrammarState::mask(std::span<uint32_t> bits) {
  const auto text_bits = vocabulary_->text_bits();
  if (bits.size() < text_bits.size()) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("grammar mask: ", bits.size() * 32, " bits for ", vocabulary_->size(), " tokens"));
  }
  std::fill(bits.begin(), bits.end(), 0);
  bool any = has_ended_ && !vocabulary_->end_tokens().empty();
  if (!has_ended_) {
    if (cache_->is_full()) move_to_fresh_cache();
    const grammar::TokenMask& mask = cache_->mask(state_);
    grammar::write_mask(mask, text_bits, bits);
    any = mask.any;
  }
  if (is_complete()) {
    for (const uint32_t token : vocabulary_->end_tokens()) grammar::set_bit(bits, token);
  }
  return any;
}

bool GrammarState::accept(int token) {
  if (vocabulary_->is_end(token)) {
    if (!is_complete()) return false;
    has_ended_ = true;
    return true;
  }
  const std::string_view text = vocabulary_->text(token);
  return !text.empty() && accept_bytes(text);
}

bool GrammarState::accept_bytes(std::string_view bytes) {
  if (has_ended_) return bytes.empty();
  if (cache_->is_full()) move_to_fresh_cache();
  grammar::State* next = cache_->walk(state_, bytes);
  if (!next) return false;
  state_ = next;
  return true;
}

bool GrammarState::is_complete() const { return state_->is_complete; }

void GrammarState::move_to_fresh_cache() {
  const grammar::Snapshot snapshot = cache_->save(*state_);
  auto fresh = grammar_.compiled_->cache_for(vocabulary_);
  if (fresh == cache_) return;
  state_ = fresh->restore(snapshot);
  cache_ = std::move(fresh);
}

}  // namespace wick
