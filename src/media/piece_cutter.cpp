#include "media/piece_cutter.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "media/energy_scorer.h"
#include "media/pcm.h"

namespace wick {
namespace {

constexpr int64_t kRate = 16000, kHop = 160;
constexpr int64_t kRest = kRate / 5;            // a piece that would be shorter than this is left out
constexpr int64_t kRemembered = 3 * kRate;      // of sound in which nobody spoke yet
constexpr int64_t kSearched = 5 * kRate;        // before the longest, for a quiet moment
constexpr int64_t kMoment = 5 * kHop;           // how long it has to be quiet

std::unique_ptr<VoiceScorer> or_energy(std::unique_ptr<VoiceScorer> scorer) {
  if (!scorer) return std::make_unique<EnergyScorer>();
  if (scorer->sample_rate() != kRate) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("pieces are cut at ", kRate, " Hz; the voice detector hears ", scorer->sample_rate()));
  }
  return scorer;
}

SegmentOptions segment_options(const PauseOptions& pauses) {
  constexpr float kHysteresis = 0.15f;
  SegmentOptions options = SegmentOptions::for_energy();
  options.start = pauses.threshold;
  options.stop = std::max(pauses.threshold - kHysteresis, pauses.threshold / 2);
  options.min_silence = pauses.least;
  options.padding = std::min(pauses.kept, pauses.least);
  return options;
}

}  // namespace

PieceCutter::PieceCutter(const PieceOptions& options, std::unique_ptr<VoiceScorer> scorer)
    : options_(options), activity_(or_energy(std::move(scorer)), segment_options(options.pauses)) {
  if (!(options.longest >= 1) || options.longest > 86'400) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("pieces of at most ", options.longest, " s are asked for; they can be 1 to 86,400 s long"));
  }
  if (!options_.skips_silence) open_ = 0;
}

std::vector<SoundPiece> PieceCutter::push(std::span<const float> samples) {
  check_samples(samples, end_, static_cast<int>(kRate), "the sound");
  end_ += std::ssize(samples);
  sound_.insert(sound_.end(), samples.begin(), samples.end());
  std::vector<SoundPiece> pieces;
  waiting_.insert(waiting_.end(), samples.begin(), samples.end());
  std::span<const float> left = waiting_;
  for (; std::ssize(left) >= kHop; left = left.subspan(kHop)) take_hop(left.first(kHop), pieces);
  waiting_.erase(waiting_.begin(), waiting_.end() - std::ssize(left));
  forget();
  return pieces;
}

void PieceCutter::take_hop(std::span<const float> hop, std::vector<SoundPiece>& pieces) {
  taken_ += kHop;
  if (options_.skips_silence) {
    const std::vector<SpeechSegment> ended = activity_.push(hop);
    const std::optional<int64_t> since = activity_.speaking_since();
    if (!open_ && since) open(*since);
    if (open_ && !ended.empty()) {
      cut(ended.back().end, pieces);
      open_.reset();
    }
  }
  const auto longest = static_cast<int64_t>(options_.longest * kRate);
  if (open_ && taken_ - *open_ >= longest) {
    const int64_t at = quietest(taken_ - std::min(kSearched, longest / 2), taken_);
    cut(at, pieces);
    open_ = at;
  }
}

// A pause at the very beginning counts like any other: a short one stays.
void PieceCutter::open(int64_t since) {
  const bool from_start = last_cut_ == 0 && since < kRate * options_.pauses.least / 1000;
  open_ = from_start ? 0 : std::max(since, last_cut_);
}

void PieceCutter::cut(int64_t end, std::vector<SoundPiece>& pieces) {
  end = std::min(end, end_);
  last_cut_ = end;
  if (options_.skips_silence && end - *open_ < kRest) return;
  const auto from = sound_.begin() + (*open_ - sound_begin_);
  pieces.push_back({*open_, {from, from + (end - *open_)}});
}

// The middle of the quietest moment.
int64_t PieceCutter::quietest(int64_t from, int64_t to) const {
  double least = -1;
  int64_t found = to;
  for (int64_t at = from; at + kMoment <= to; at += kHop) {
    const float* samples = sound_.data() + (at - sound_begin_);
    double energy = 0;
    for (int64_t i = 0; i < kMoment; ++i) energy += double{samples[i]} * samples[i];
    if (least >= 0 && energy > least) continue;  // of equal ones the last: longer pieces
    least = energy;
    found = at + kMoment / 2;
  }
  return found;
}

void PieceCutter::forget() {
  const int64_t keep = open_ ? *open_ : std::max(last_cut_, end_ - kRemembered);
  const int64_t count = std::min<int64_t>(keep - sound_begin_, std::ssize(sound_));
  if (count < kRate) return;  // seldom, and not a few samples each time
  sound_.erase(sound_.begin(), sound_.begin() + count);
  sound_begin_ += count;
}

std::vector<SoundPiece> PieceCutter::finish() {
  std::vector<SoundPiece> pieces;
  if (options_.skips_silence) {
    std::vector<SpeechSegment> last = activity_.push(waiting_);
    for (const SpeechSegment& segment : activity_.finish()) last.push_back(segment);
    if (last.empty()) open_.reset();
    if (!last.empty() && !open_) open(last.front().begin);
  }
  if (open_ && *open_ < end_) cut(end_, pieces);
  return pieces;
}

std::span<const float> PieceCutter::open_samples() const {
  if (!open_) return {};
  return std::span(sound_).subspan(static_cast<size_t>(*open_ - sound_begin_));
}

}  // namespace wick
