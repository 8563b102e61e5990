#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace wick {

// Tells how much a piece of sound is like speech. Sound is mono at sample_rate(); pieces follow each other without a
// gap.
class VoiceScorer {
 public:
  virtual ~VoiceScorer() = default;
  virtual int sample_rate() const { return 16000; }
  virtual int64_t window() const = 0;                       // samples per score
  virtual float score(std::span<const float> samples) = 0;  // of window() samples: 0 to 1
  virtual void reset() = 0;                                 // as new
};

struct SegmentOptions {
  float start = 0.5f;     // speech begins with a score of at least this
  float stop = 0.35f;     // and ends with scores below this ...
  int min_silence = 100;  // ... for at least so many milliseconds;
  int min_speech = 250;   // shorter speech is left out;
  int padding = 30;       // kept on both sides, without overlap

  static SegmentOptions for_energy() { return {.min_silence = 300, .min_speech = 200, .padding = 100}; }
};

// In samples, at the rate of the scorer: [begin, end).
struct SpeechSegment {
  int64_t begin = 0, end = 0;
  bool operator==(const SpeechSegment&) const = default;
};

// Finds where somebody speaks. Sound may come in any pieces: the segments are the same.
class VoiceActivity {
 public:
  // Throws Error(kInvalidArgument) for options that make no sense.
  VoiceActivity(std::unique_ptr<VoiceScorer> scorer, const SegmentOptions& options);

  // Segments that came to their end, in order. Throws Error(kBadFile) when a sample is not a finite number.
  std::vector<SpeechSegment> push(std::span<const float> samples);
  // The last one, if speech goes to the end of the sound. Afterwards a new sound may begin.
  std::vector<SpeechSegment> finish();

  // Where the speech that is going on began, once it has lasted min_speech.
  std::optional<int64_t> speaking_since() const;
  int64_t samples() const { return samples_; }

 private:
  int64_t samples_in(int milliseconds) const { return int64_t{scorer_->sample_rate()} * milliseconds / 1000; }
  void take_window(std::span<const float> window, std::vector<SpeechSegment>& ended);
  void end_speech(int64_t end, std::vector<SpeechSegment>& ended);

  std::unique_ptr<VoiceScorer> scorer_;
  SegmentOptions options_;
  std::vector<float> waiting_;    // less than a window
  int64_t samples_ = 0;           // pushed
  int64_t scored_ = 0;            // of them, in whole windows
  int64_t last_end_ = 0;          // of the segment before, with padding
  std::optional<int64_t> begin_;  // of the speech going on, without padding
  std::optional<int64_t> quiet_since_;
};

// All at once.
std::vector<SpeechSegment> find_speech(std::span<const float> samples, std::unique_ptr<VoiceScorer> scorer,
                                       const SegmentOptions& options);

}  // namespace wick
