#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/text/conversation.h"

namespace wick {

inline GenerateParams greedy(int64_t max_new_tokens = 400) {
  GenerateParams params;
  params.sampling.temperature = 0;
  params.max_new_tokens = max_new_tokens;
  return params;
}

// Asks in a conversation and gives the answer alone.
inline std::string ask(Conversation& conversation, const std::string& text, const GenerateParams& params = greedy()) {
  return conversation.ask(text, params, [](const ReplyEvent&) { return true; }).response.content;
}

// The prompt of one message of the user.
inline std::vector<int32_t> prompt_of(const std::shared_ptr<const TextModel>& model, const std::string& text) {
  Conversation conversation(model, {.context = 16});
  conversation.add("user", text);
  return conversation.prompt().tokens;
}

}  // namespace wick
