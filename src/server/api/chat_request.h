#pragma once

#include <optional>

#include "server/api/conversation_request.h"
#include "server/api/sampling_request.h"

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
  Json tool_list;  // `tools` as they came; null when there are none

  static const Fields<ChatRequest>& fields();
  // Throws RequestError.
  static ChatRequest parse(const Json& body);
};

}  // namespace wick
