#pragma once

#include <string>
#include <vector>

#include "chat/response_parser.h"
#include "server/api/generation/answer_writer.h"

namespace wick {

// A model that thinks in <think> and calls tools in <tool_call>.
inline ResponseFormat thinking_format() {
  ResponseFormat format;
  format.tool_calls = ToolCallShape::kTagged;
  format.reasoning_open = "<think>";
  format.reasoning_close = "</think>";
  return format;
}

// Plays an answer's pieces to a writer, each as one token.
inline void play_answer(AnswerWriter& writer, const std::vector<std::string>& pieces,
                        StopReason reason = StopReason::kEndOfText, int64_t choice = 0, const std::string& stop = {}) {
  GenerateResult result;
  result.reason = reason;
  result.stop = stop;
  result.prompt_tokens = 10;
  result.reused_tokens = 4;
  for (const std::string& piece : pieces) {
    const SampledToken token{.token = static_cast<int32_t>(result.tokens.size())};
    result.tokens.push_back(token.token);
    RequestEvent event{RequestEvent::Kind::kToken, choice};
    event.token = &token;
    event.text = piece;
    writer.on_token(choice, event);
  }
  RequestEvent end{RequestEvent::Kind::kEnd, choice};
  end.result = &result;
  writer.on_end(0, choice, end);
}

}  // namespace wick
