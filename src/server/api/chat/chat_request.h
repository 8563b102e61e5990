#pragma once

#include <optional>

#include "server/api/chat/conversation_request.h"
#include "server/api/generation/sampling_request.h"

namespace wick {

struct ToolRequest {
  std::string type;
  FunctionRequest function;
  static const Fields<ToolRequest>& fields();
};

// POST /v1/chat/completions.
struct ChatRequest : ChoicesRequest, ConversationOptions {
  std::vector<ChatMessage> messages;
  std::vector<ToolRequest> tools;
  OutputFormat response_format;
  bool logprobs = false;
  std::optional<int64_t> top_logprobs;
  std::optional<int64_t> max_tokens, max_completion_tokens;
  std::optional<std::string> reasoning_effort;
  TextModality modalities;
  Json tool_list;          // `tools` as they came; null when there are none
  bool truncates = false;  // leave out the oldest turns where all are longer than the context

  static const Fields<ChatRequest>& fields();
  // Throws RequestError.
  static ChatRequest parse(const Json& body);
};

// Leaves only the tools that tool_choice allows.
void keep_allowed_tools(ChatRequest& request);

}  // namespace wick
