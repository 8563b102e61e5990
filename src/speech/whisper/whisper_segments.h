#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "speech/whisper/whisper_tokens.h"

namespace wick {

// A segment by its times within the window.
struct WhisperSegment {
  double begin = 0, end = 0;        // seconds
  std::span<const int32_t> tokens;  // with its times
  size_t first = 0;                 // where they are in the text
};

struct WhisperCut {
  std::vector<WhisperSegment> segments;
  double next = 0;  // where the next window begins, in seconds within this one
};

// Cuts what was generated about a window of so many seconds at its pairs of times. A segment that has begun and not
// ended is left to the next window, which begins with it.
WhisperCut cut_at_times(std::span<const int32_t> generated, const WhisperTokens& tokens, double window_seconds);

}  // namespace wick
