#include "server/http/clients/caller.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace wick {

void KeyUse::Bucket::fill(double per_minute, Clock::time_point now) {
  const double minutes = since ? std::chrono::duration<double>(now - *since).count() / 60 : 1;
  left = std::min(per_minute, (since ? left : 0) + per_minute * minutes);
  since = now;
}

std::chrono::seconds KeyUse::Bucket::wait(double wanted, double per_minute) const {
  return std::chrono::seconds(std::max<int64_t>(1, std::llround(std::ceil(60 * (wanted - left) / per_minute))));
}

KeyUse::Begun KeyUse::begin(const std::string& key, const KeyLimits& limits, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  Use& use = uses_[key];
  if (limits.connections > 0 && use.open >= limits.connections) {
    return {nullptr, cat("This API key has ", use.open, " requests open, as many as it may have at once."),
            std::chrono::seconds(1)};
  }
  if (limits.requests_per_minute > 0) {
    use.requests.fill(limits.requests_per_minute, now);
    if (use.requests.left < 1) {
      return {nullptr, cat("This API key may send ", limits.requests_per_minute, " requests per minute."),
              use.requests.wait(1, limits.requests_per_minute)};
    }
    use.requests.left -= 1;
  }
  ++use.open;
  const auto give_back = [self = shared_from_this(), key](const void*) { self->end(key); };
  return {std::shared_ptr<const void>(this, give_back), {}, {}};
}

void KeyUse::end(const std::string& key) {
  const std::lock_guard lock(mutex_);
  --uses_[key].open;
}

std::optional<std::chrono::seconds> KeyUse::wait_for_tokens(const std::string& key, const KeyLimits& limits,
                                                            Clock::time_point now) {
  if (limits.tokens_per_minute <= 0) return std::nullopt;
  const std::lock_guard lock(mutex_);
  Bucket& tokens = uses_[key].tokens;
  tokens.fill(limits.tokens_per_minute, now);
  if (tokens.left >= 1) return std::nullopt;
  return tokens.wait(1, limits.tokens_per_minute);
}

void KeyUse::spend_tokens(const std::string& key, const KeyLimits& limits, int64_t tokens, Clock::time_point now) {
  if (limits.tokens_per_minute <= 0) return;
  const std::lock_guard lock(mutex_);
  Bucket& bucket = uses_[key].tokens;
  bucket.fill(limits.tokens_per_minute, now);
  bucket.left -= static_cast<double>(tokens);
}

}  // namespace wick
