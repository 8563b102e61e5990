#include "engine/token_counters.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace wick {

TokenCounters::Counter& TokenCounters::enter(const Client& client) {
  std::optional<double> least;
  for (const auto& [name, other] : counters_) {
    if (other.sequences > 0) least = std::min(other.tokens, least.value_or(other.tokens));
  }
  Counter& counter = counters_[client.name];
  if (counter.sequences++ == 0) {
    ++clients_;
    counter.client = client.name;
    counter.tokens = std::max(counter.tokens, least.value_or(0));
  }
  counter.weight = client.weight;
  return counter;
}

void TokenCounters::leave(Counter& counter) {
  if (--counter.sequences > 0) return;
  --clients_;
  forget_served();
}

// Those who are away and have had no more than anybody who is here would begin there anyway.
void TokenCounters::forget_served() {
  if (clients_ == 0) return counters_.clear();
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [name, counter] : counters_) {
    if (counter.sequences > 0) least = std::min(least, counter.tokens);
  }
  std::erase_if(counters_, [&](const auto& each) { return each.second.sequences == 0 && each.second.tokens <= least; });
}

}  // namespace wick
