#include "engine/text/generate_result.h"

namespace wick {

std::string_view to_string(StopReason reason) {
  switch (reason) {
    case StopReason::kEndOfText: return "end of text";
    case StopReason::kStopString: return "stop string";
    case StopReason::kLength: return "length";
    case StopReason::kCancelled: return "cancelled";
    case StopReason::kContextFull: return "context full";
    case StopReason::kDeadline: return "deadline";
  }
  return "?";
}

double GenerateResult::prefill_rate() const {
  const auto count = static_cast<double>(prompt_tokens - reused_tokens);
  return prefill_seconds > 0 ? count / prefill_seconds : 0;
}

double GenerateResult::decode_rate() const {
  // The first token comes with the prompt.
  const auto count = static_cast<double>(tokens.size()) - 1;
  return decode_seconds > 0 && count > 0 ? count / decode_seconds : 0;
}

}  // namespace wick
