#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "engine/text/conversation.h"

namespace wick {

// The answer as one object: text, reasoning, tool calls, tokens, why it ended, times, and log-probabilities when
// `choices` (one per token) has them.
nlohmann::ordered_json to_json(const Reply& reply, const TextModel& model, uint64_t seed,
                               const std::vector<SampledToken>& choices);

}  // namespace wick
