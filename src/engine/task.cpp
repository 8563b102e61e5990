#include "engine/task.h"
#include "engine/snapshot.h"

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

std::optional<Priority> priority_named(std::string_view name) {
  for (int i = 0; i < kPriorities; ++i) {
    if (name == to_string(static_cast<Priority>(i))) return static_cast<Priority>(i);
  }
  return std::nullopt;
}

std::string_view to_string(SequencePhase phase) {
  switch (phase) {
    case SequencePhase::kWaiting: return "waiting";
    case SequencePhase::kPrefill: return "prefill";
    case SequencePhase::kDecode: return "decode";
    case SequencePhase::kPreempted: return "paused";
  }
  return "?";
}

}  // namespace wick
