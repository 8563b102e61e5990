#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "media/voice_activity.h"

namespace wick {

// What a pause is. Times are milliseconds.
struct PauseOptions {
  float threshold = 0.5f;  // scores from this on are speech
  int least = 1000;        // shorter ones are part of a piece
  int kept = 400;          // of it on each side; not more than `least`
  bool operator==(const PauseOptions&) const = default;
};

struct PieceOptions {
  double longest = 30;  // seconds
  // Pauses end a piece and are left out but for a little on each side. Without this, everything is kept and pieces end at
  // their longest.
  bool skips_silence = true;
  PauseOptions pauses = {};
};

// Sound of one mono recording at 16 kHz.
struct SoundPiece {
  int64_t begin = 0;  // samples from the beginning of the recording
  std::vector<float> samples;

  int64_t end() const { return begin + std::ssize(samples); }
};

// Cuts a recording into pieces that a speech model takes one at a time: at pauses, and where somebody speaks on for too
// long at the quietest moment of the last seconds. Sound may come in any portions: the pieces are the same, so that a
// stream is cut as a file is. Holds less than two pieces.
class PieceCutter {
 public:
  // Throws Error(kInvalidArgument) for pieces shorter than a second and pauses that make no sense.
  explicit PieceCutter(const PieceOptions& options, std::unique_ptr<VoiceScorer> scorer = nullptr);

  // Pieces that came to their end. Throws Error(kBadFile) when a sample is not a finite number.
  std::vector<SoundPiece> push(std::span<const float> samples);
  std::vector<SoundPiece> finish();

  // Where the piece that is going on began; empty while nobody speaks.
  std::optional<int64_t> open_since() const { return open_; }
  // What there is of it.
  std::span<const float> open_samples() const;
  int64_t samples() const { return end_; }  // pushed

 private:
  void take_hop(std::span<const float> hop, std::vector<SoundPiece>& pieces);
  void open(int64_t since);
  void cut(int64_t end, std::vector<SoundPiece>& pieces);
  int64_t quietest(int64_t from, int64_t to) const;
  void forget();

  PieceOptions options_;
  VoiceActivity activity_;
  std::vector<float> waiting_;  // less than a hop
  std::vector<float> sound_;    // from sample sound_begin_ on
  int64_t sound_begin_ = 0;
  int64_t end_ = 0;       // of what was pushed
  int64_t taken_ = 0;     // of what came in whole hops
  int64_t last_cut_ = 0;  // the end of the piece before
  std::optional<int64_t> open_;
};

}  // namespace wick
