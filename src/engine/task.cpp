#include "engine/snapshot.h"
#include "engine/task.h"

namespace wick {

std::string_view to_string(Priority priority) {
  switch (priority) {
    case Priority::kLow: return "low";
    case Priority::kNormal: return "normal";
    case Priority::kHigh: return "high";
    case Priority::kCritical: return "critical";
  }
  return "?";
}

std::string_view to_string(SequencePhase phase) {
  switch (phase) {
    case SequencePhase::kWaiting: return "waiting";
    case SequencePhase::kPrefill: return "prefill";
    case SequencePhase::kDecode: return "decode";
    case SequencePhase::kPaused: return "paused";
  }
  return "?";
}

}  // namespace wick
