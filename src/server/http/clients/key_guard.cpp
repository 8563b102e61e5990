#include "server/http/clients/key_guard.h"

namespace wick {
namespace {

constexpr size_t kMostClients = 10'000;  // remembered; then those without a wrong key lately go

}  // namespace

KeyGuard::Answer KeyGuard::look(const std::string& client, std::string_view key, Clock::time_point now) {
  if (key.empty()) return {};
  const std::lock_guard lock(mutex_);
  if (clients_.size() >= kMostClients) forget_old(now);
  const ApiKeys::Known* const known = keys_->find(key);
  Client& seen = clients_[client];
  if (now - seen.since >= limits_.wrong_key_time) seen.wrong = 0;
  const bool is_shut_out = seen.wrong >= limits_.wrong_keys;
  if (known && (!is_shut_out || seen.right.contains(known->name))) {
    seen.right.insert(known->name);
    return {Verdict::kRight, known->name, known->limits, {}};
  }
  if (is_shut_out) {
    const auto left = std::chrono::ceil<std::chrono::seconds>(seen.since + limits_.wrong_key_time - now);
    return {Verdict::kTooMany, {}, {}, left};
  }
  if (seen.wrong++ == 0) seen.since = now;
  return {};
}

void KeyGuard::forget_old(Clock::time_point now) {
  std::erase_if(clients_, [&](const auto& entry) {
    return entry.second.wrong == 0 || now - entry.second.since >= limits_.wrong_key_time;
  });
  if (clients_.size() >= kMostClients) clients_.clear();
}

bool KeyGuard::asks() const {
  const std::lock_guard lock(mutex_);
  return keys_ != nullptr;
}

void KeyGuard::replace(std::shared_ptr<const ApiKeys> keys) {
  const std::lock_guard lock(mutex_);
  keys_ = std::move(keys);
  for (auto& [client, seen] : clients_) seen.right.clear();
}

}  // namespace wick
