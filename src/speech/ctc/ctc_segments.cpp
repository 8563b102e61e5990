#include "speech/ctc/ctc_segments.h"

#include <algorithm>

namespace wick {
namespace {

constexpr int64_t kLead = 4;  // quiet frames that are kept in front of a text

}  // namespace

void CtcSegments::drop_front(int64_t count) {
  logprobs_.erase(logprobs_.begin(), logprobs_.begin() + static_cast<std::ptrdiff_t>(count * vocabulary_));
}

// The first frames as a segment; what is behind them begins the next.
std::optional<CtcSegments::Segment> CtcSegments::take(int64_t count) {
  std::optional<Segment> segment;
  if (has_text_) {
    const auto end = logprobs_.begin() + static_cast<std::ptrdiff_t>(count * vocabulary_);
    segment = Segment{frames_ - held(), {logprobs_.begin(), end}};
  }
  drop_front(count);
  quiet_ = std::min(quiet_, held());
  has_text_ = held() > quiet_;
  gap_ = 0;
  return segment;
}

std::optional<CtcSegments::Segment> CtcSegments::push(std::span<const float> logprobs) {
  const auto best = static_cast<int32_t>(std::max_element(logprobs.begin(), logprobs.end()) - logprobs.begin());
  logprobs_.insert(logprobs_.end(), logprobs.begin(), logprobs.end());
  ++frames_;
  if (best == blank_ || best == delimiter_) {
    ++quiet_;
    if (best == delimiter_ && has_text_) gap_ = held();
  } else {
    quiet_ = 0;
    has_text_ = true;
  }
  if (!has_text_) {
    if (held() > kLead) drop_front(held() - kLead);
    quiet_ = held();
    return std::nullopt;
  }
  if (quiet_ >= limits_.silence) return take(held());
  if (held() < limits_.most) return std::nullopt;
  return take(gap_ > 0 ? gap_ : held());
}

std::optional<CtcSegments::Segment> CtcSegments::skip(int64_t frames) {
  auto segment = take(held());
  frames_ += frames;
  return segment;
}

std::optional<CtcSegments::Segment> CtcSegments::finish() { return take(held()); }

}  // namespace wick
