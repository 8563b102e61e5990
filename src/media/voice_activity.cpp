#include "media/voice_activity.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "media/pcm.h"

namespace wick {

VoiceActivity::VoiceActivity(std::unique_ptr<VoiceScorer> scorer, const SegmentOptions& options)
    : scorer_(std::move(scorer)), options_(options) {
  if (!(options.start >= options.stop) || !(options.stop >= 0) || !(options.start <= 1)) {
    throw Error(ErrorCode::kInvalidArgument, cat("voice activity: speech starts at a score of ", options.start,
                                                 " and stops at ", options.stop, ", but 0 <= stop <= start <= 1"));
  }
  if (options.min_silence < 0 || options.min_speech < 0 || options.padding < 0) {
    throw Error(ErrorCode::kInvalidArgument, "voice activity: a duration is negative");
  }
}

std::vector<SpeechSegment> VoiceActivity::push(std::span<const float> samples) {
  check_samples(samples, samples_, scorer_->sample_rate(), "voice activity");
  samples_ += std::ssize(samples);
  std::vector<SpeechSegment> ended;
  const auto window = static_cast<size_t>(scorer_->window());
  if (!waiting_.empty()) {
    const auto missing = samples.first(std::min(samples.size(), window - waiting_.size()));
    waiting_.insert(waiting_.end(), missing.begin(), missing.end());
    samples = samples.subspan(missing.size());
    if (waiting_.size() < window) return ended;
    take_window(waiting_, ended);
    waiting_.clear();
  }
  while (samples.size() >= window) {
    take_window(samples.first(window), ended);
    samples = samples.subspan(window);
  }
  waiting_.assign(samples.begin(), samples.end());
  return ended;
}

void VoiceActivity::take_window(std::span<const float> window, std::vector<SpeechSegment>& ended) {
  const float score = scorer_->score(window);
  const int64_t from = scored_;
  scored_ += std::ssize(window);
  if (score >= options_.start) {
    if (!begin_) begin_ = from;
    quiet_since_.reset();
  } else if (begin_ && score < options_.stop) {
    if (!quiet_since_) quiet_since_ = from;
    if (scored_ - *quiet_since_ >= samples_in(options_.min_silence)) end_speech(*quiet_since_, ended);
  }
}

void VoiceActivity::end_speech(int64_t end, std::vector<SpeechSegment>& ended) {
  const int64_t begin = *begin_;
  begin_.reset();
  quiet_since_.reset();
  if (end - begin < samples_in(options_.min_speech)) return;
  const int64_t padding = samples_in(options_.padding);
  // What was pushed but not scored yet must not count: the segments would depend on the pieces.
  const SpeechSegment segment = {std::max(last_end_, begin - padding), std::min({samples_, scored_, end + padding})};
  last_end_ = segment.end;
  ended.push_back(segment);
}

std::vector<SpeechSegment> VoiceActivity::finish() {
  std::vector<SpeechSegment> ended;
  if (!waiting_.empty()) {
    waiting_.resize(static_cast<size_t>(scorer_->window()));
    take_window(waiting_, ended);
  }
  if (begin_) end_speech(std::min(samples_, quiet_since_.value_or(scored_)), ended);
  waiting_.clear();
  samples_ = scored_ = last_end_ = 0;
  scorer_->reset();
  return ended;
}

std::optional<int64_t> VoiceActivity::speaking_since() const {
  if (!begin_ || quiet_since_.value_or(scored_) - *begin_ < samples_in(options_.min_speech)) return std::nullopt;
  return std::max(last_end_, *begin_ - samples_in(options_.padding));
}

std::vector<SpeechSegment> find_speech(std::span<const float> samples, std::unique_ptr<VoiceScorer> scorer,
                                       const SegmentOptions& options) {
  VoiceActivity activity(std::move(scorer), options);
  auto segments = activity.push(samples);
  for (const SpeechSegment& last : activity.finish()) segments.push_back(last);
  return segments;
}

}  // namespace wick
