#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace wick {

// Log-probabilities of each token in every frame: f32 [frames, vocabulary], row-major. CTC writes one token per frame;
// a text is what remains when repetitions are joined and then the token that means "nothing new", the blank, is left
// out.
struct CtcFrames {
  std::span<const float> logprobs;
  int64_t vocabulary = 0;
  int32_t blank = 0;

  int64_t count() const { return static_cast<int64_t>(logprobs.size()) / vocabulary; }
  const float* row(int64_t frame) const { return logprobs.data() + frame * vocabulary; }
};

struct CtcToken {
  int32_t id = 0;
  int64_t begin = 0, end = 0;  // frames that it is written in: [begin, end)
  float logprob = 0;           // the mean over them
};

struct CtcText {
  std::vector<CtcToken> tokens;
  double logprob = 0;  // of the way that was taken (greedy, align) or of all ways that were followed (beam)
};

// Throws Error(kInvalidArgument) for sizes that do not fit and for values that are not numbers. The others begin with
// it.
void check_frames(const CtcFrames& frames);

// The likeliest token of each frame; the lowest id of equal ones.
CtcText ctc_greedy(const CtcFrames& frames);

// The likeliest text, found by following the `beams` likeliest beginnings: ways that lead to the same text count
// together. With enough beams it is exact; at most 64 tokens are tried in a frame. Frames are those of ctc_align.
CtcText ctc_beam(const CtcFrames& frames, int64_t beams);

// The likeliest way to write this text. Empty when there are too few frames for it.
std::optional<CtcText> ctc_align(const CtcFrames& frames, std::span<const int32_t> text);

}  // namespace wick
