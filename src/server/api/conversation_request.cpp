#include "server/api/conversation_request.h"

#include <algorithm>

#include "base/utf8.h"
#include "server/api/fields.h"

namespace wick {

const Fields<FunctionCallRequest>& FunctionCallRequest::fields() {
  using R = FunctionCallRequest;
  static const Fields<R> fields = Fields<R>("FunctionCall", BodyUse::kRequest)
                                      .add("name", &R::name, "Which function.")
                                      .required()
                                      .add("arguments", &R::arguments, "JSON text of an object.")
                                      .required();
  return fields;
}

const Fields<ToolCallRequest>& ToolCallRequest::fields() {
  using R = ToolCallRequest;
  static const Fields<R> fields = Fields<R>("ToolCall", BodyUse::kRequest)
                                      .add("id", &R::id, "What the answer of the tool refers to.")
                                      .add("type", &R::type, "")
                                      .words({"function"})
                                      .add("function", &R::function, "The call.")
                                      .required();
  return fields;
}

const Fields<ChatMessage>& ChatMessage::fields() {
  using R = ChatMessage;
  static const Fields<R> fields =
      Fields<R>("ChatMessage", BodyUse::kRequest)
          .add("role", &R::role, "Who speaks; developer means the same as system.")
          .required()
          .words({"developer", "system", "user", "assistant", "tool"})
          .add("content", &R::content, "What is said: text, or a list of text parts.")
          .add("tool_calls", &R::tool_calls, "Of the assistant: the calls it made.")
          .add("tool_call_id", &R::tool_call_id, "Of a tool: the call that this answers.")
          .add("name", &R::name, "The speaker's name, for templates that show it.")
          .add("reasoning_content", &R::reasoning_content, "Of the assistant: what it thought. An extension.")
          .refuse("audio", "models here read only text")
          .refuse("function_call", "it was replaced by tool_calls");
  return fields;
}

const Fields<FunctionRequest>& FunctionRequest::fields() {
  using R = FunctionRequest;
  static const Fields<R> fields =
      Fields<R>("Function", BodyUse::kRequest)
          .add("name", &R::name, "Its name.")
          .required()
          .add("description", &R::description, "What it does, for the model to read.")
          .add("parameters", &R::parameters, "JSON Schema of its arguments.")
          .add("strict", &R::strict, "Forced calls always keep to the schema; others are free.");
  return fields;
}

OrderedJson FieldKind<ToolChoice>::schema(SchemaSet&) {
  const OrderedJson named = {
      {"type", "object"},
      {"properties",
       {{"type", {{"type", "string"}, {"enum", {"function"}}}},
        {"function", {{"type", "object"}, {"properties", {{"name", {{"type", "string"}}}}}, {"required", {"name"}}}}}},
      {"required", {"type", "function"}}};
  return {{"anyOf", {{{"type", "string"}, {"enum", {"auto", "none", "required"}}}, named}}};
}

void FieldKind<ToolChoice>::read(const Json& value, const std::string& place, const Limits&, ToolChoice& out) {
  using Mode = ToolChoice::Mode;
  if (value.is_text()) {
    check_word(place, value.as_text(), {.words = {"auto", "none", "required"}});
    out.mode = value.as_text() == "none" ? Mode::kNone : value.as_text() == "required" ? Mode::kRequired : Mode::kAuto;
    return;
  }
  if (!value.is_object()) throw wrong_kind(place, value, "text or an object");
  std::string type;
  if (const Json* given = value.find("type")) FieldKind<std::string>::read(*given, place + ".type", {}, type);
  check_word(place + ".type", type, {.words = {"function"}});
  const Json* function = value.find("function");  // absent in the Responses API
  const std::string holder = function ? place + ".function" : place;
  if (function && !function->is_object()) throw wrong_kind(holder, *function, "an object");
  const Json* name = (function ? *function : value).find("name");
  if (!name) throw RequestError(holder + ".name", cat(holder, ".name is missing"), "missing_required_parameter");
  FieldKind<std::string>::read(*name, holder + ".name", {}, out.name);
  out.mode = Mode::kNamed;
}

const Fields<JsonSchemaRequest>& JsonSchemaRequest::fields() {
  using R = JsonSchemaRequest;
  static const Fields<R> fields = Fields<R>("JsonSchemaFormat", BodyUse::kRequest)
                                      .add("name", &R::name, "Its name; changes nothing.")
                                      .add("description", &R::description, "What it is for; changes nothing.")
                                      .add("schema", &R::schema, "JSON Schema that the answer satisfies.")
                                      .required()
                                      .add("strict", &R::strict, "Answers keep to the schema whatever this says.");
  return fields;
}

const Fields<OutputFormat>& OutputFormat::fields() {
  using R = OutputFormat;
  static const Fields<R> fields =
      Fields<R>("ResponseFormat", BodyUse::kRequest)
          .add("type", &R::type, "text, json_object (any JSON object) or json_schema.")
          .required()
          .words({"text", "json_object", "json_schema"})
          .add("json_schema", &R::json_schema, "With json_schema: the schema, in the chat API.")
          .add("schema", &R::schema, "With json_schema: the schema, in the Responses API.");
  return fields;
}

const Json* OutputFormat::wanted_schema() const {
  if (type != "json_schema") return nullptr;
  if (json_schema && json_schema->schema) return &*json_schema->schema;
  return schema ? &*schema : nullptr;
}

const Fields<ConversationOptions>& ConversationOptions::fields() {
  using R = ConversationOptions;
  static const Fields<R> fields =
      Fields<R>("ConversationOptions", BodyUse::kRequest)
          .add("tool_choice", &R::tool_choice, "Whether it may call none, any, must call one, or which.")
          .add("parallel_tool_calls", &R::parallel_tool_calls, "Whether an answer may hold more than one call.")
          .add("enable_thinking", &R::enable_thinking, "For templates that know it. An extension.")
          .add("chat_template_kwargs", &R::chat_template_kwargs, "Names that the chat template sees. An extension.");
  return fields;
}

void check_messages(const std::vector<ChatMessage>& messages, const std::string& place) {
  if (messages.empty()) throw RequestError(place, cat(place, " is empty"));
  for (size_t i = 0; i < messages.size(); ++i) {
    const ChatMessage& message = messages[i];
    const std::string at = cat(place, "[", i, "]");
    const bool is_assistant = message.role == "assistant";
    if (!message.content && !(is_assistant && !message.tool_calls.empty())) {
      throw RequestError(at + ".content", cat(at, ".content is missing"), "missing_required_parameter");
    }
    if (!is_assistant && !message.tool_calls.empty()) {
      throw RequestError(at + ".tool_calls", cat(at, ".tool_calls stands in a message of role ",
                                                 in_quotes(message.role), ", which makes no calls"));
    }
  }
}

void check_tool_choice(const std::optional<ToolChoice>& choice, const std::vector<std::string_view>& functions) {
  if (!choice || !choice->forces()) return;
  if (functions.empty()) throw RequestError("tool_choice", "tool_choice asks for a call, but there are no tools");
  if (choice->mode == ToolChoice::Mode::kRequired) return;
  if (std::find(functions.begin(), functions.end(), choice->name) == functions.end()) {
    throw RequestError("tool_choice", cat("tool_choice names ", in_quotes(choice->name), ", which is not among tools"));
  }
}

void check_format(const OutputFormat& format, const std::string& place) {
  if (format.type != "json_schema" || format.wanted_schema()) return;
  throw RequestError(place, cat(place, " is missing"), "missing_required_parameter");
}

}  // namespace wick
