#pragma once

#include <optional>

#include "server/api/sampling_request.h"

namespace wick {

struct FunctionCallRequest {
  std::string name, arguments;
  static const Fields<FunctionCallRequest>& fields();
};
struct ToolCallRequest {
  std::optional<std::string> id;
  std::string type = "function";
  FunctionCallRequest function;
  static const Fields<ToolCallRequest>& fields();
};

struct ChatMessage {
  std::string role;
  std::optional<TextContent> content;
  std::vector<ToolCallRequest> tool_calls;
  std::optional<std::string> tool_call_id, name, reasoning_content;
  static const Fields<ChatMessage>& fields();
};

struct FunctionRequest {
  std::string name;
  std::optional<std::string> description;
  std::optional<Json> parameters;
  std::optional<bool> strict;
  static const Fields<FunctionRequest>& fields();
};
struct ToolRequest {
  std::string type;
  FunctionRequest function;
  static const Fields<ToolRequest>& fields();
};

// "auto", "none", "required" or {"type": "function", "function": {"name": "..."}}.
struct ToolChoice {
  enum class Mode : uint8_t { kAuto, kNone, kRequired, kNamed };
  Mode mode = Mode::kAuto;
  std::string name;  // kNamed

  bool forces() const { return mode == Mode::kRequired || mode == Mode::kNamed; }
};
template <>
struct FieldKind<ToolChoice> {
  static OrderedJson schema(SchemaSet& set);
  static void read(const Json& value, const std::string& place, const Limits& limits, ToolChoice& out);
};

// What the text of an answer is to be. `schema` stands right here in the Responses API, else inside json_schema.
struct JsonSchemaRequest {
  std::string name;
  std::optional<std::string> description;
  std::optional<Json> schema;
  std::optional<bool> strict;
  static const Fields<JsonSchemaRequest>& fields();
};
struct OutputFormat {
  std::string type = "text";
  std::optional<JsonSchemaRequest> json_schema;
  std::optional<Json> schema;
  static const Fields<OutputFormat>& fields();

  const Json* wanted_schema() const;
};

// POST /v1/chat/completions.
struct ChatRequest : ChoicesRequest {
  std::vector<ChatMessage> messages;
  std::vector<ToolRequest> tools;
  std::optional<ToolChoice> tool_choice;
  bool parallel_tool_calls = true;
  OutputFormat response_format;
  bool logprobs = false;
  std::optional<int64_t> top_logprobs;
  std::optional<int64_t> max_tokens, max_completion_tokens;
  std::optional<std::string> reasoning_effort;
  std::optional<bool> enable_thinking;
  std::optional<Json> chat_template_kwargs;
  TextModality modalities;
  Json tool_list;  // `tools` as they came; null when there are none

  static const Fields<ChatRequest>& fields();
  // Throws RequestError.
  static ChatRequest parse(const Json& body);
};

// Throws RequestError for more stops than allowed, stream_options without stream, and so on.
void check_choices(const ChoicesRequest& request);
void check_messages(const std::vector<ChatMessage>& messages, const std::string& place);
void check_tool_choice(const std::optional<ToolChoice>& choice, const std::vector<ToolRequest>& tools);

}  // namespace wick
