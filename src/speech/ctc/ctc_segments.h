#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace wick {

// Cuts a stream of frames with log-probabilities where nothing is written for a while, so that a recording of any
// length is decoded in pieces of bounded size.
class CtcSegments {
 public:
  struct Limits {
    int64_t silence = 0;  // frames without a token that end a segment
    int64_t most = 0;     // frames of a segment
  };
  struct Segment {
    int64_t first = 0;  // its first frame in the stream
    std::vector<float> logprobs;
  };

  CtcSegments(int64_t vocabulary, int32_t blank, int32_t delimiter, const Limits& limits)
      : vocabulary_(vocabulary), blank_(blank), delimiter_(delimiter), limits_(limits) {}

  // The next frame. A segment that came to its end.
  std::optional<Segment> push(std::span<const float> logprobs);
  // Frames that nothing is known of, because nobody speaks in them; they end a segment.
  std::optional<Segment> skip(int64_t frames);
  // What is left.
  std::optional<Segment> finish();

  int64_t frames() const { return frames_; }

 private:
  std::optional<Segment> take(int64_t count);
  int64_t held() const { return static_cast<int64_t>(logprobs_.size()) / vocabulary_; }
  void drop_front(int64_t count);

  int64_t vocabulary_;
  int32_t blank_, delimiter_;
  Limits limits_;
  int64_t frames_ = 0;           // pushed and skipped
  std::vector<float> logprobs_;  // of the segment that goes on
  bool has_text_ = false;
  int64_t quiet_ = 0;  // frames without a token at its end
  int64_t gap_ = 0;    // behind the last frame between words; 0: there was none
};

}  // namespace wick
