#pragma once

#include <optional>

#include "server/api/chat/chat_request.h"

namespace wick {

// "text", or a list of messages, function calls, their outputs and reasoning.
struct ResponsesInput {
  std::vector<ChatMessage> messages;
};
template <>
struct FieldKind<ResponsesInput> {
  static OrderedJson schema(SchemaSet& set);
  static void read(const Json& value, const std::string& place, const Limits& limits, ResponsesInput& out);
};

// A tool as the Responses API writes it: what else stands under "function" stands beside its type.
struct FlatTool : FunctionRequest {
  std::string type;
  static const Fields<FlatTool>& fields();
};

struct TextOptions {
  OutputFormat format;
  static const Fields<TextOptions>& fields();
};
struct ReasoningOptions {
  std::optional<std::string> effort;
  static const Fields<ReasoningOptions>& fields();
};

// POST /v1/responses.
struct ResponsesRequest : SamplingRequest, ConversationOptions {
  ResponsesInput input;
  std::optional<std::string> instructions;
  std::optional<int64_t> max_output_tokens;
  std::vector<FlatTool> tools;
  TextOptions text;
  std::optional<ReasoningOptions> reasoning;
  std::optional<Json> metadata;
  bool background = false, store = true;
  std::optional<std::string> previous_response_id;
  std::vector<std::string> include;
  std::optional<int64_t> top_logprobs;
  std::string truncation = "disabled";

  static const Fields<ResponsesRequest>& fields();
  // Throws RequestError.
  static ResponsesRequest parse(const Json& body);

  bool wants_logprobs() const;
  // The same as a request of the chat API.
  ChatRequest as_chat() const;
};

}  // namespace wick
