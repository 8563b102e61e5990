#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "server/http/clients/api_keys.h"
#include "server/http/http_limits.h"

namespace wick {

// Looks at keys, and stops looking at those of a client who has shown too many wrong ones lately; a key that was once
// right from there is still taken, so that one program with a wrong key does not shut out the others beside it.
// Thread-safe.
class KeyGuard {
 public:
  using Clock = std::chrono::steady_clock;
  KeyGuard(std::shared_ptr<const ApiKeys> keys, const HttpLimits& limits) : limits_(limits), keys_(std::move(keys)) {}

  enum class Verdict { kRight, kWrong, kTooMany };
  struct Answer {
    Verdict verdict = Verdict::kWrong;
    std::string name;             // of the key, kRight
    KeyLimits limits;             // the same
    std::chrono::seconds wait{};  // kTooMany
  };
  // An empty key is wrong and does not count.
  Answer look(const std::string& client, std::string_view key, Clock::time_point now = Clock::now());

  bool asks() const;  // else there are no keys, and nobody needs one
  void replace(std::shared_ptr<const ApiKeys> keys);

 private:
  struct Client {
    int wrong = 0;
    Clock::time_point since;      // of the first wrong one
    std::set<std::string> right;  // names
  };
  void forget_old(Clock::time_point now);

  const HttpLimits& limits_;
  mutable std::mutex mutex_;
  std::shared_ptr<const ApiKeys> keys_;
  std::unordered_map<std::string, Client> clients_;
};

}  // namespace wick
