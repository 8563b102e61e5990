#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wick {

enum class StopReason : uint8_t { kEndOfText, kStopString, kLength, kCancelled, kContextFull, kDeadline };
std::string_view to_string(StopReason reason);  // "end of text", ...

// An answer, and how it came about.
struct GenerateResult {
  std::vector<int32_t> tokens;
  std::string text;
  StopReason reason = StopReason::kLength;
  std::string stop;  // the stop string found
  int64_t prompt_tokens = 0, reused_tokens = 0;
  int64_t drafted = 0, accepted = 0;  // tokens, and those of them that were right
  double prefill_seconds = 0, decode_seconds = 0;

  double prefill_rate() const;  // tokens per second; 0 when nothing was done
  double decode_rate() const;
};

}  // namespace wick
