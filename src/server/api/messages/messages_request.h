#pragma once

#include <optional>

#include "server/api/chat/chat_request.h"

namespace wick {

// What is said in a message, as Anthropic's API writes it: a text, or blocks of text, thinking, calls of tools and
// their results.
struct MessageBlock {
  std::string type;
  std::string text;  // also of thinking
  std::string id, name;
  Json input;
  std::string tool_use_id;
  TextContent content;
};
struct MessageBlocks {
  std::vector<MessageBlock> list;
};
template <>
struct FieldKind<MessageBlocks> {
  static OrderedJson schema(SchemaSet& set);
  static void read(const Json& value, const std::string& place, const Limits& limits, MessageBlocks& out);
};

struct InputMessage {
  std::string role;
  MessageBlocks content;
  static const Fields<InputMessage>& fields();
};

struct MessageTool {
  std::string name;
  std::optional<std::string> description;
  std::optional<std::string> type;
  Json input_schema;
  static const Fields<MessageTool>& fields();
};
struct MessageToolChoice {
  std::string type, name;
  bool disable_parallel_tool_use = false;
  static const Fields<MessageToolChoice>& fields();
};
struct ThinkingOptions {
  std::string type;
  std::optional<int64_t> budget_tokens;
  static const Fields<ThinkingOptions>& fields();
};
struct OutputConfig {
  std::optional<OutputFormat> format;
  std::optional<std::string> effort;
  static const Fields<OutputConfig>& fields();
};

// POST /v1/messages/count_tokens.
struct CountTokensRequest {
  std::string model;
  std::vector<InputMessage> messages;
  std::optional<TextContent> system;
  std::vector<MessageTool> tools;
  std::optional<MessageToolChoice> tool_choice;
  std::optional<ThinkingOptions> thinking;
  OutputConfig output_config;
  static const Fields<CountTokensRequest>& fields();

  // Throws RequestError.
  ChatRequest as_chat() const;
};

// POST /v1/messages.
struct MessagesRequest : CountTokensRequest {
  int64_t max_tokens = 0;
  bool stream = false;
  std::optional<float> temperature, top_p;
  std::optional<int64_t> top_k;
  std::vector<std::string> stop_sequences;
  static const Fields<MessagesRequest>& fields();

  // Throws RequestError.
  ChatRequest as_chat() const;
};

}  // namespace wick
