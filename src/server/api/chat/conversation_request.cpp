#include "server/api/chat/conversation_request.h"

#include <algorithm>
#include <set>

#include "base/utf8.h"
#include "server/api/fields.h"
#include "server/api/json_copy.h"

namespace wick {
namespace {

// The name of {"type": "function", "function": {"name": "..."}}; without the object between in the Responses API.
std::string named_function(const Json& value, const std::string& place) {
  const Json* function = value.find("function");
  const std::string holder = function ? place + ".function" : place;
  if (function && !function->is_object()) throw wrong_kind(holder, *function, "an object");
  const Json* name = (function ? *function : value).find("name");
  if (!name) throw RequestError(holder + ".name", cat(holder, ".name is missing"), "missing_required_parameter");
  std::string read;
  FieldKind<std::string>::read(*name, holder + ".name", {}, read);
  return read;
}

std::string type_of_choice(const Json& value, const std::string& place, std::vector<std::string_view> words) {
  std::string type;
  if (const Json* given = value.find("type")) FieldKind<std::string>::read(*given, place + ".type", {}, type);
  Limits limits;
  limits.words = std::move(words);
  check_word(place + ".type", type, limits);
  return type;
}

void read_allowed(const Json& value, const std::string& place, ToolChoice& out) {
  const Json* mode = value.find("mode");
  std::string word;
  if (mode) FieldKind<std::string>::read(*mode, place + ".mode", {}, word);
  check_word(place + ".mode", word, {.words = {"auto", "required"}});
  out.mode = word == "required" ? ToolChoice::Mode::kRequired : ToolChoice::Mode::kAuto;
  const Json* tools = value.find("tools");
  if (!tools || !tools->is_array()) throw RequestError(place + ".tools", cat(place, ".tools is missing or no list"));
  out.allowed.emplace();
  for (const Json& tool : tools->as_array()) {
    const std::string at = cat(place, ".tools[", out.allowed->size(), "]");
    if (!tool.is_object()) throw wrong_kind(at, tool, "an object");
    type_of_choice(tool, at, {"function"});
    out.allowed->push_back(named_function(tool, at));
  }
}

}  // namespace

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
          .add("refusal", &R::refusal, "Of the assistant: what it said instead of an answer.")
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

OrderedJson tool_json(const FunctionRequest& function) {
  OrderedJson json = {{"name", function.name}};
  if (function.description) json["description"] = *function.description;
  if (function.parameters) json["parameters"] = to_ordered(*function.parameters);
  return {{"type", "function"}, {"function", std::move(json)}};
}

OrderedJson FieldKind<ToolChoice>::schema(SchemaSet&) {
  const OrderedJson named = {
      {"type", "object"},
      {"properties",
       {{"type", {{"type", "string"}, {"enum", {"function"}}}},
        {"function", {{"type", "object"}, {"properties", {{"name", {{"type", "string"}}}}}, {"required", {"name"}}}}}},
      {"required", {"type", "function"}}};
  const OrderedJson allowed = {{"type", "object"},
                               {"properties",
                                {{"type", {{"type", "string"}, {"enum", {"allowed_tools"}}}},
                                 {"allowed_tools",
                                  {{"type", "object"},
                                   {"properties",
                                    {{"mode", {{"type", "string"}, {"enum", {"auto", "required"}}}},
                                     {"tools", {{"type", "array"}, {"items", named}}}}},
                                   {"required", {"mode", "tools"}}}}}},
                               {"required", {"type"}}};
  return {{"anyOf", {{{"type", "string"}, {"enum", {"auto", "none", "required"}}}, named, allowed}}};
}

void FieldKind<ToolChoice>::read(const Json& value, const std::string& place, const Limits&, ToolChoice& out) {
  using Mode = ToolChoice::Mode;
  if (value.is_text()) {
    check_word(place, value.as_text(), {.words = {"auto", "none", "required"}});
    out.mode = value.as_text() == "none" ? Mode::kNone : value.as_text() == "required" ? Mode::kRequired : Mode::kAuto;
    return;
  }
  if (!value.is_object()) throw wrong_kind(place, value, "text or an object");
  if (type_of_choice(value, place, {"function", "allowed_tools"}) == "allowed_tools") {
    const Json* inside = value.find("allowed_tools");  // absent in the Responses API
    const std::string at = inside ? place + ".allowed_tools" : place;
    if (inside && !inside->is_object()) throw wrong_kind(at, *inside, "an object");
    return read_allowed(inside ? *inside : value, at, out);
  }
  out.name = named_function(value, place);
  out.mode = Mode::kNamed;
}

const Fields<JsonSchemaRequest>& JsonSchemaRequest::fields() {
  using R = JsonSchemaRequest;
  static const Fields<R> fields = Fields<R>("JsonSchemaFormat", BodyUse::kRequest)
                                      .add("name", &R::name, "Its name; changes nothing.")
                                      .required()
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
          .add("schema", &R::schema, "With json_schema: the schema, in the Responses API.")
          .add("name", &R::name, "With json_schema: its name, in the Responses API.")
          .add("member_order", &R::member_order, "With json_schema: the schema's order, or any. An extension.")
          .words({"schema", "any"});
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
    if (!message.content && !(is_assistant && (!message.tool_calls.empty() || message.refusal))) {
      throw RequestError(at + ".content", cat(at, ".content is missing"), "missing_required_parameter");
    }
    if (!is_assistant && !message.tool_calls.empty()) {
      throw RequestError(at + ".tool_calls", cat(at, ".tool_calls stands in a message of role ",
                                                 in_quotes(message.role), ", which makes no calls"));
    }
  }
}

void check_function_names(const std::vector<std::string_view>& names, std::string_view rest, size_t most_letters) {
  const auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  std::set<std::string_view> seen;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string_view name = names[i];
    const std::string at = cat("tools[", i, "]", rest);
    if (name.empty() || name.size() > most_letters || !std::all_of(name.begin(), name.end(), is_allowed)) {
      throw RequestError(at, cat(at, " is ", in_quotes(name), ", allowed are 1 to ", most_letters,
                                 " letters, digits, underscores and dashes"));
    }
    if (!seen.insert(name).second) throw RequestError(at, cat(at, " is ", in_quotes(name), ", like one before it"));
  }
}

void check_tool_results(const std::vector<ChatMessage>& messages, const std::string& place) {
  for (size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].role != "tool" || messages[i].tool_call_id) continue;
    const std::string at = cat(place, "[", i, "].tool_call_id");
    throw RequestError(at, cat(at, " is missing"), "missing_required_parameter");
  }
}

void check_tool_choice(const std::optional<ToolChoice>& choice, const std::vector<std::string_view>& functions) {
  if (!choice) return;
  for (const std::string& name : choice->allowed.value_or(std::vector<std::string>())) {
    if (std::find(functions.begin(), functions.end(), name) != functions.end()) continue;
    throw RequestError("tool_choice", cat("tool_choice allows ", in_quotes(name), ", which is not among tools"));
  }
  if (!choice->forces()) return;
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
