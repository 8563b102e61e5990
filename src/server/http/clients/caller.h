#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace wick {

// What a key may have, from its line in the file of keys; 0: any number.
struct KeyLimits {
  int64_t connections = 0;  // requests and web sockets at once
  double requests_per_minute = 0;
  double tokens_per_minute = 0;  // read and generated
  double weight = 1;             // its part of an engine beside others'
  std::string priority;          // the highest it may ask for; empty: any
  bool shares_cache = false;     // with other keys of that kind: what it sends may show in what is cached for them
};

// What keys have had of what their lines allow. Thread-safe; lives as long as a place does.
class KeyUse : public std::enable_shared_from_this<KeyUse> {
 public:
  using Clock = std::chrono::steady_clock;

  // A request begins: its place, as long as that lives, or how long to wait for one and why not.
  struct Begun {
    std::shared_ptr<const void> place;
    std::string refusal;  // without a place
    std::chrono::seconds wait{};
  };
  Begun begin(const std::string& key, const KeyLimits& limits, Clock::time_point now = Clock::now());
  // How long until there are tokens to spend again; empty: there are some.
  std::optional<std::chrono::seconds> wait_for_tokens(const std::string& key, const KeyLimits& limits,
                                                      Clock::time_point now = Clock::now());
  void spend_tokens(const std::string& key, const KeyLimits& limits, int64_t tokens,
                    Clock::time_point now = Clock::now());

 private:
  // Filled evenly, up to what a minute gives. What is spent beyond that is owed.
  struct Bucket {
    double left = 0;
    std::optional<Clock::time_point> since;
    void fill(double per_minute, Clock::time_point now);
    std::chrono::seconds wait(double wanted, double per_minute) const;
  };
  struct Use {
    int64_t open = 0;
    Bucket requests, tokens;
  };
  void end(const std::string& key);

  std::mutex mutex_;
  std::map<std::string, Use> uses_;  // as many as there were keys
};

// Who sends a request: an API key, or an address where no keys are asked for.
struct Caller {
  std::string name;  // whose share of what all have the request counts to
  std::string key;   // the key's name; empty: none
  KeyLimits limits;
  std::shared_ptr<KeyUse> use;  // null: nothing is counted
};

}  // namespace wick
