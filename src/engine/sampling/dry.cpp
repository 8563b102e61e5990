#include "engine/sampling/dry.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace wick::sampling {

Dry::Dry(const SamplingParams& params, int64_t vocabulary, TokenText text)
    : multiplier_(params.dry_multiplier),
      base_(params.dry_base),
      allowed_length_(params.dry_allowed_length),
      window_(params.dry_window < 0 ? std::numeric_limits<int64_t>::max() : params.dry_window),
      breakers_(params.dry_breakers),
      vocabulary_(vocabulary),
      text_(std::move(text)) {
  for (const std::string& breaker : breakers_) longest_ = std::max(longest_, breaker.size());
}

void Dry::start(std::span<const int32_t> prompt) {
  if (!is_needed()) return;
  int32_t since = 0;
  for (size_t end = prompt.size(); end > 0 && !ends_breaker(prompt.first(end)); --end) ++since;
  since_breaker_.assign(1, since);
}

void Dry::push(std::span<const int32_t> history) {
  if (!is_needed()) return;
  since_breaker_.push_back(ends_breaker(history) ? 0 : since_breaker_.back() + 1);
}

bool Dry::ends_breaker(std::span<const int32_t> history) const {
  const auto exists = [&](int32_t token) { return token >= 0 && token < vocabulary_; };
  if (!exists(history.back())) return true;
  if (breakers_.empty()) return false;
  std::string text = text_(history.back());
  const size_t own = text.size();
  for (size_t i = history.size() - 1; i > 0 && text.size() - own + 1 < longest_ && own > 0; --i) {
    const std::string before = exists(history[i - 1]) ? text_(history[i - 1]) : std::string();
    if (before.empty()) break;
    text.insert(0, before);
  }
  const size_t earlier = text.size() - own;
  return std::any_of(breakers_.begin(), breakers_.end(), [&](const std::string& breaker) {
    return text.find(breaker, earlier - std::min(earlier, breaker.size() - 1)) != std::string::npos;
  });
}

// Every place where what the history ends with stands earlier on, as (the token that follows there, the length, at most
// `limit`). Lengths come from the Z-algorithm on the history read backwards, in linear time.
void Dry::find_runs(std::span<const int32_t> history, int32_t limit, DryMemory& memory) const {
  const auto size = static_cast<int32_t>(history.size());
  const auto back = [&](int32_t i) { return history[static_cast<size_t>(size - 1 - i)]; };
  memory.matches.assign(history.size(), 0);
  memory.runs.clear();
  int32_t* matches = memory.matches.data();
  for (int32_t k = 1, begin = 0, end = 0; k < size; ++k) {  // back(begin..end) equals back(0..)
    int32_t match = k < end ? std::min(end - k, matches[k - begin]) : 0;
    while (k + match < size && back(match) == back(k + match)) ++match;
    matches[k] = match;
    if (k + match > end) {
      begin = k;
      end = k + match;
    }
    const int32_t length = std::min(match, limit);
    if (length >= allowed_length_) memory.runs.emplace_back(back(k - 1), length);
  }
}

void Dry::add_edits(std::span<const int32_t> history, int32_t row, DryMemory& memory,
                    std::vector<LogitEdit>& to) const {
  if (!is_needed()) return;
  if (static_cast<int64_t>(history.size()) > window_) history = history.last(static_cast<size_t>(window_));
  if (since_breaker_.back() < allowed_length_) return;
  find_runs(history, since_breaker_.back(), memory);
  std::sort(memory.runs.begin(), memory.runs.end());
  for (size_t i = 0; i < memory.runs.size(); ++i) {
    const auto [token, length] = memory.runs[i];
    const bool is_longest = i + 1 == memory.runs.size() || memory.runs[i + 1].first != token;
    if (!is_longest || token < 0 || token >= vocabulary_) continue;
    const double power = std::pow(static_cast<double>(base_), static_cast<double>(length - allowed_length_));
    const double penalty = static_cast<double>(multiplier_) * power;
    to.push_back({row, token, 0, 1, static_cast<float>(std::min(penalty, 1e30))});
  }
}

}  // namespace wick::sampling
