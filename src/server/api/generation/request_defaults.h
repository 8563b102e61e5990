#pragma once

#include <optional>

#include "server/api/chat/chat_request.h"
#include "server/api/completions/completion_request.h"

namespace wick {

// What requests to a preset get that do not say otherwise. Fields are those of requests; none of them changes who asks
// or how the answer is sent.
struct RequestDefaults : ChoicesRequest {
  std::optional<std::string> system;
  std::optional<int64_t> max_tokens;  // of answers in a conversation
  static const Fields<RequestDefaults>& fields();

  void fill(ChatRequest& request) const;
  void fill(CompletionRequest& request) const;
  // The same for messages alone: whoever has no system message gets this one.
  void fill(std::vector<ChatMessage>& messages) const;
};

}  // namespace wick
