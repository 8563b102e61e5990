#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/api/request_kinds.h"

namespace wick {

// What the chat API and the Responses API have in common: messages, functions, what an answer is to be.

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
  std::optional<std::string> tool_call_id, name, reasoning_content, refusal;
  static const Fields<ChatMessage>& fields();
};

struct FunctionRequest {
  std::string name;
  std::optional<std::string> description;
  std::optional<Json> parameters;
  std::optional<bool> strict;
  static const Fields<FunctionRequest>& fields();
};
// A function as chat templates want it: {"type": "function", "function": {...}}.
OrderedJson tool_json(const FunctionRequest& function);
// "auto", "none", "required", {"type": "function", "function": {"name": "..."}}, or which tools there are for this
// once:
// {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": ...}]}}.
struct ToolChoice {
  enum class Mode : uint8_t { kAuto, kNone, kRequired, kNamed };
  Mode mode = Mode::kAuto;
  std::string name;  // kNamed
  std::optional<std::vector<std::string>> allowed;

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
  std::optional<std::string> name;
  std::optional<JsonSchemaRequest> json_schema;
  std::optional<Json> schema;
  std::string member_order = "schema";
  static const Fields<OutputFormat>& fields();

  const Json* wanted_schema() const;
};

// How a conversation is answered, spelled the same in both.
struct ConversationOptions {
  std::optional<ToolChoice> tool_choice;
  bool parallel_tool_calls = true;
  std::optional<bool> enable_thinking;
  std::optional<Json> chat_template_kwargs;
  static const Fields<ConversationOptions>& fields();
};

// These throw RequestError.
void check_messages(const std::vector<ChatMessage>& messages, const std::string& place);
// Names as OpenAI's API takes them, each once; `rest`: what stands behind tools[i].
void check_function_names(const std::vector<std::string_view>& names, std::string_view rest, size_t most_letters = 64);
// That results of tools say which call they answer.
void check_tool_results(const std::vector<ChatMessage>& messages, const std::string& place);
void check_tool_choice(const std::optional<ToolChoice>& choice, const std::vector<std::string_view>& functions);
// `place`: where the schema is expected.
void check_format(const OutputFormat& format, const std::string& place);

}  // namespace wick
