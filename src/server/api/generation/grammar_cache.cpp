#include "server/api/generation/grammar_cache.h"

#include "server/api/json_copy.h"

namespace wick {

Grammar GrammarCache::gbnf(std::string_view text) {
  return find_or_make(cat("g", text), [&] { return Grammar::from_gbnf(text); });
}

Grammar GrammarCache::json_object() {
  return find_or_make("o", [] { return Grammar::json_object(JsonLayout::kOneLine); });
}

Grammar GrammarCache::json_schema(const Json& schema, MemberOrder order) {
  return find_or_make(cat(order == MemberOrder::kAny ? "a" : "s", to_text(to_ordered(schema))),
                      [&] { return Grammar::from_json_schema(schema, JsonLayout::kOneLine, order); });
}

size_t GrammarCache::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

Grammar GrammarCache::find_or_make(std::string key, const std::function<Grammar()>& make) {
  const auto find = [&]() -> const Grammar* {
    const auto place = places_.find(key);
    if (place == places_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, place->second);
    return &place->second->second;
  };
  {
    const std::lock_guard lock(mutex_);
    if (const Grammar* known = find()) return *known;
  }
  const Grammar made = make();  // takes a while: others need not wait
  const std::lock_guard lock(mutex_);
  if (const Grammar* known = find()) return *known;
  entries_.emplace_front(std::move(key), made);
  places_.emplace(entries_.front().first, entries_.begin());
  if (entries_.size() > most_) {
    places_.erase(entries_.back().first);
    entries_.pop_back();
  }
  return made;
}

}  // namespace wick
