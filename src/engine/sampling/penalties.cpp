#include "engine/sampling/penalties.h"

#include <algorithm>
#include <limits>

namespace wick::sampling {
namespace {

size_t hash(int32_t token) { return static_cast<size_t>((static_cast<uint32_t>(token) * 0x9E3779B9u) >> 8); }

}  // namespace

Penalties::Penalties(const SamplingParams& params, int64_t vocabulary)
    : repetition_(params.repetition_penalty),
      frequency_(params.frequency_penalty),
      presence_(params.presence_penalty),
      window_(params.penalty_window < 0 ? std::numeric_limits<int64_t>::max() : params.penalty_window),
      penalize_prompt_(params.penalize_prompt),
      is_needed_(window_ != 0 && (repetition_ != 1 || frequency_ != 0 || presence_ != 0)),
      vocabulary_(vocabulary) {}

void Penalties::start(std::span<const int32_t> prompt) {
  if (!is_needed_) return;
  prompt_size_ = prompt.size();
  counts_.clear();
  slots_.assign(64, 0);
  const size_t counted = std::min(prompt.size(), static_cast<size_t>(window_));
  for (size_t i = prompt.size() - counted; i < prompt.size(); ++i) add(prompt, i, 1);
}

void Penalties::push(std::span<const int32_t> history) {
  if (!is_needed_) return;
  add(history, history.size() - 1, 1);
  const auto window = static_cast<size_t>(window_);
  if (history.size() > window) add(history, history.size() - 1 - window, -1);
}

void Penalties::pop(std::span<const int32_t> history) {
  if (!is_needed_) return;
  add(history, history.size() - 1, -1);
  const auto window = static_cast<size_t>(window_);
  if (history.size() > window) add(history, history.size() - 1 - window, 1);
}

void Penalties::add(std::span<const int32_t> history, size_t position, int32_t change) {
  const int32_t token = history[position];
  const bool is_prompt = position < prompt_size_;
  if (token < 0 || token >= vocabulary_ || (is_prompt && !penalize_prompt_)) return;
  Count& count = count_of(token);
  count.seen += change;
  if (!is_prompt) count.generated += change;
}

Penalties::Count& Penalties::count_of(int32_t token) {
  const size_t mask = slots_.size() - 1;
  size_t at = hash(token) & mask;
  for (; slots_[at] != 0; at = (at + 1) & mask) {
    if (counts_[slots_[at] - 1].token == token) return counts_[slots_[at] - 1];
  }
  counts_.push_back({token, 0, 0});
  slots_[at] = static_cast<uint32_t>(counts_.size());
  if (counts_.size() * 2 > slots_.size()) grow();
  return counts_.back();
}

void Penalties::grow() {
  slots_.assign(slots_.size() * 2, 0);
  const size_t mask = slots_.size() - 1;
  for (size_t i = 0; i < counts_.size(); ++i) {
    size_t at = hash(counts_[i].token) & mask;
    while (slots_[at] != 0) at = (at + 1) & mask;
    slots_[at] = static_cast<uint32_t>(i + 1);
  }
}

void Penalties::add_edits(int32_t row, std::vector<LogitEdit>& to) const {
  if (!is_needed_) return;
  for (const Count& count : counts_) {
    if (count.seen == 0) continue;
    const float minus = count.generated > 0 ? static_cast<float>(count.generated) * frequency_ + presence_ : 0;
    to.push_back({row, count.token, 0, repetition_, minus});
  }
}

}  // namespace wick::sampling
