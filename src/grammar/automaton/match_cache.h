#pragma once

#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "grammar/automaton/automaton.h"
#include "grammar/state_table.h"
#include "grammar/token_vocabulary.h"

namespace wick::grammar {

// States and masks of one automaton with one vocabulary, computed when first asked for and kept. Thread-safe: what is
// known is read without a lock.
class MatchCache {
 public:
  MatchCache(std::shared_ptr<const Automaton> automaton, std::shared_ptr<const TokenVocabulary> vocabulary);

  State* start() const { return states_.start(); }
  // The state behind the bytes; null when they do not match.
  State* walk(State* from, std::string_view bytes);
  const TokenMask& mask(State* state);

  // Whether it is time for a new cache: this one only grows.
  bool is_full() const { return bytes_.load(std::memory_order_relaxed) > kMaxBytes; }
  Snapshot save(const State& state) const;
  State* restore(const Snapshot& snapshot);
  const std::shared_ptr<const TokenVocabulary>& vocabulary() const { return vocabulary_; }

 private:
  static constexpr size_t kMaxBytes = size_t{64} << 20;

  std::shared_ptr<const Automaton> automaton_;
  std::shared_ptr<const TokenVocabulary> vocabulary_;
  mutable std::mutex mutex_;  // for all that changes states_
  StateTable states_;
  std::atomic<size_t> bytes_ = 0;
};

// An automaton and its caches, one per vocabulary in use.
class CompiledGrammar {
 public:
  explicit CompiledGrammar(Automaton automaton) : automaton_(std::make_shared<const Automaton>(std::move(automaton))) {}

  // The vocabulary's current cache; a new one when there is none or it is full.
  std::shared_ptr<MatchCache> cache_for(const std::shared_ptr<const TokenVocabulary>& vocabulary);

 private:
  static constexpr size_t kMaxCaches = 4;  // more vocabularies than that at a time are not expected

  std::shared_ptr<const Automaton> automaton_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<MatchCache>> caches_;
};

}  // namespace wick::grammar
