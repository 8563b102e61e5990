#pragma once

#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "grammar/grammar.h"

namespace wick {

// Keeps the grammars used last, so that equal requests share one, with all that was computed for it. Thread-safe.
class GrammarCache {
 public:
  explicit GrammarCache(size_t most = 64) : most_(most) {}

  // Throws Error(kInvalidArgument) as the functions of Grammar do.
  Grammar gbnf(std::string_view text);
  Grammar json_object();
  Grammar json_schema(const Json& schema, MemberOrder order = MemberOrder::kSchema);

  size_t size() const;

 private:
  Grammar find_or_make(std::string key, const std::function<Grammar()>& make);

  using Entry = std::pair<std::string, Grammar>;
  size_t most_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // the one used last first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> places_;
};

}  // namespace wick
