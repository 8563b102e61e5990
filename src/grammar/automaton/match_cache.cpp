#include "grammar/automaton/match_cache.h"

#include <algorithm>

#include "grammar/mask_walk.h"

namespace wick::grammar {

MatchCache::MatchCache(std::shared_ptr<const Automaton> automaton, std::shared_ptr<const TokenVocabulary> vocabulary)
    : automaton_(std::move(automaton)), vocabulary_(std::move(vocabulary)), states_(*automaton_) {}

State* MatchCache::walk(State* from, std::string_view bytes) {
  size_t at = 0;
  for (; at < bytes.size(); ++at) {
    State* next = states_.known_next(*from, static_cast<uint8_t>(bytes[at]));
    if (!next) break;
    from = next;
  }
  if (at < bytes.size()) {
    const std::lock_guard lock(mutex_);
    for (; at < bytes.size(); ++at) from = states_.next(*from, static_cast<uint8_t>(bytes[at]));
    bytes_ = states_.bytes();
  }
  return from == states_.dead() ? nullptr : from;
}

const TokenMask& MatchCache::mask(State* state) {
  if (const TokenMask* known = state->mask.load(std::memory_order_acquire)) return *known;
  const std::lock_guard lock(mutex_);
  if (!state->owned_mask) {
    auto mask = std::make_unique<const TokenMask>(walk_vocabulary(states_, *state, *vocabulary_));
    states_.count_bytes(mask->bytes());
    state->mask.store(mask.get(), std::memory_order_release);
    state->owned_mask = std::move(mask);
    bytes_ = states_.bytes();
  }
  return *state->owned_mask;
}

Snapshot MatchCache::save(const State& state) const {
  const std::lock_guard lock(mutex_);
  return states_.save(state);
}

State* MatchCache::restore(const Snapshot& snapshot) {
  const std::lock_guard lock(mutex_);
  return states_.restore(snapshot);
}

std::shared_ptr<MatchCache> CompiledGrammar::cache_for(const std::shared_ptr<const TokenVocabulary>& vocabulary) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(caches_.begin(), caches_.end(),
                                  [&](const auto& cache) { return cache->vocabulary() == vocabulary; });
  if (found != caches_.end() && !(*found)->is_full()) return *found;
  auto cache = std::make_shared<MatchCache>(automaton_, vocabulary);
  if (found != caches_.end()) {
    *found = cache;
  } else {
    if (caches_.size() == kMaxCaches) caches_.erase(caches_.begin());
    caches_.push_back(cache);
  }
  return cache;
}

}  // namespace wick::grammar
