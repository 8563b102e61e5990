#pragma once

#include <optional>

#include "server/api/generation/token_logprobs.h"
#include "server/api/generation/usage.h"

namespace wick {

struct FunctionCallAnswer {
  std::optional<std::string> name;
  std::string arguments;
  static const Fields<FunctionCallAnswer>& fields();
};
struct ToolCallAnswer {
  std::optional<int64_t> index;  // in chunks
  std::optional<std::string> id, type;
  FunctionCallAnswer function;
  static const Fields<ToolCallAnswer>& fields();
};

struct ChatAnswerMessage {
  std::string role = "assistant";
  std::optional<std::string> content, refusal, reasoning_content;
  std::optional<std::vector<ToolCallAnswer>> tool_calls;
  static const Fields<ChatAnswerMessage>& fields();
};

struct ChatChoice {
  int64_t index = 0;
  ChatAnswerMessage message;
  std::optional<ChatLogprobs> logprobs;
  std::string finish_reason;
  static const Fields<ChatChoice>& fields();
};

// What POST /v1/chat/completions answers.
struct ChatCompletion {
  std::string id, object = "chat.completion";
  int64_t created = 0;
  std::string model, system_fingerprint;
  std::vector<ChatChoice> choices;
  Usage usage;
  std::optional<OrderedJson> wick;
  static const Fields<ChatCompletion>& fields();
};

// One event of the same as a stream; chat_stream.cpp writes it.
struct ChatDelta {
  std::optional<std::string> role, content, reasoning_content;
  std::optional<std::vector<ToolCallAnswer>> tool_calls;
  static const Fields<ChatDelta>& fields();
};
struct ChatChunkChoice {
  int64_t index = 0;
  ChatDelta delta;
  std::optional<ChatLogprobs> logprobs;
  std::optional<std::string> finish_reason;
  static const Fields<ChatChunkChoice>& fields();
};
struct ChatChunk {
  std::string id, object = "chat.completion.chunk";
  int64_t created = 0;
  std::string model, system_fingerprint;
  std::vector<ChatChunkChoice> choices;
  std::optional<Usage> usage;
  std::optional<Timings> timings;
  std::optional<OrderedJson> wick;
  static const Fields<ChatChunk>& fields();
};

}  // namespace wick
