#pragma once

#include <optional>

#include "engine/sampling/grammar_guide.h"
#include "engine/text/response_format.h"
#include "server/api/chat/chat_request.h"
#include "server/api/generation/grammar_cache.h"

namespace wick {

// What an answer must look like.
struct AnswerRules {
  std::optional<Grammar> grammar;
  GrammarStart start;
};

// From response_format, tool_choice and grammar. What the model thinks first is free of them. Throws RequestError for a
// schema that cannot be enforced, and for models whose way of writing calls or thoughts cannot be.
AnswerRules answer_rules(const ChatRequest& request, const TextModel& model, const ResponseFormat& format,
                         GrammarCache& grammars);

// The schema of a call {"name": ..., `arguments_name`: {...}} of one of the tools; of only the one named, if a name is
// given.
OrderedJson call_schema(const std::vector<ToolRequest>& tools, std::string_view only, std::string_view arguments_name);

}  // namespace wick
