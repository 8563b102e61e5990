#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "engine/task.h"

namespace wick {

// How much each client has been served: the virtual token counters of "Fairness in Serving Large Language Models"
// (Sheng et al., 2024), with weights. Who has the lowest counter is served first. Who comes back begins where the
// lowest of those who are here stands, unless they have had more: being away saves up nothing. Not thread-safe.
class TokenCounters {
 public:
  struct Counter {
    std::string client;
    double weight = 1;
    double tokens = 0;      // by weight
    int64_t sequences = 0;  // that run or wait
  };

  // One more sequence of the client, whose counter stays where it is until its last one leaves.
  Counter& enter(const Client& client);
  void leave(Counter& counter);
  static void serve(Counter& counter, int64_t tokens) {
    counter.tokens += static_cast<double>(tokens) / counter.weight;
  }

  int64_t clients() const { return clients_; }  // that have sequences

 private:
  void forget_served();

  std::map<std::string, Counter> counters_;
  int64_t clients_ = 0;
};

}  // namespace wick
