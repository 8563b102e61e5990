#include "engine/text/conversation.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "jinja/builtins/json_text.h"
#include "tokenizer/stages/code_points.h"

namespace wick {
namespace {

using jinja::Dict;
using jinja::Value;

bool has_role(const Value& message, std::string_view role) {
  const Value* found = message.is_dict() ? message.as_dict().find(std::string_view("role")) : nullptr;
  return found && found->is_text() && found->bytes() == role;
}

Value make_message(std::string_view role, std::string_view content) {
  Dict message;
  message.set("role", role);
  message.set("content", replace_invalid_utf8(content));
  return message;
}

// Templates want arguments as an object; text that is none stays text.
Value arguments_of(const ToolCall& call) {
  try {
    return Json::parse(call.arguments, "arguments");
  } catch (const Error&) {
    return call.arguments;
  }
}

}  // namespace

Conversation::Conversation(std::shared_ptr<const TextModel> model, const GeneratorOptions& options)
    : generator_(std::move(model), options) {
  if (!this->model().chat_template()) {
    throw Error(ErrorCode::kInvalidArgument, cat(this->model().name(), " has no chat template"));
  }
}

void Conversation::set_system(std::string_view text) {
  if (!messages_.empty() && has_role(messages_.front(), "system")) messages_.erase(messages_.begin());
  if (!text.empty()) messages_.insert(messages_.begin(), make_message("system", text));
}

std::string Conversation::system() const {
  if (messages_.empty() || !has_role(messages_.front(), "system")) return {};
  const Value* content = messages_.front().as_dict().find(std::string_view("content"));
  return content && content->is_text() ? std::string(content->bytes()) : std::string();
}

void Conversation::set_tools(const Json& tools) {
  tools.as_array();
  tools_ = tools;
}

void Conversation::add(std::string_view role, std::string_view content) {
  messages_.push_back(make_message(role, content));
}

void Conversation::add_user(std::string_view text, std::span<const Shown> shown) {
  if (shown.empty()) return add("user", text);
  std::vector<Value> parts;
  for (const Shown& each : shown) {
    const std::string_view kind = each.visual->is_video() ? "video" : "image";
    Dict part;
    part.set("type", kind);
    part.set(std::string(kind), replace_invalid_utf8(each.name));
    parts.emplace_back(std::move(part));
    visuals_[replace_invalid_utf8(each.name)] = each.visual;
  }
  Dict said, message;
  said.set("type", "text");
  said.set("text", replace_invalid_utf8(text));
  parts.emplace_back(std::move(said));
  message.set("role", "user");
  message.set("content", Value::list(std::move(parts)));
  messages_.emplace_back(std::move(message));
}

// Of all messages, in order; files of conversations that were loaded are read when they are first needed.
ChatVisuals Conversation::visuals() const {
  ChatVisuals visuals;
  visuals.options = sight_;
  const auto text_of = [](const Value& dict, std::string_view name) {
    const Value* found = dict.is_dict() ? dict.as_dict().find(name) : nullptr;
    return found && found->is_text() ? std::string(found->bytes()) : std::string();
  };
  for (const Value& message : messages_) {
    const Value* content = message.is_dict() ? message.as_dict().find(std::string_view("content")) : nullptr;
    if (!content || !content->is_list()) continue;
    for (const Value& part : content->items()) {
      const std::string kind = text_of(part, "type");
      if (kind != "image" && kind != "video") continue;
      const std::string name = text_of(part, kind);
      const auto known = visuals_.find(name);
      if (known != visuals_.end()) {
        visuals.all.push_back(known->second);
        continue;
      }
      if (name.empty()) throw Error(ErrorCode::kInvalidArgument, cat("a message shows ", kind, " without a path"));
      visuals.all.push_back(load_visual(name, kind == "video"));
      visuals_.emplace(name, visuals.all.back());
    }
  }
  return visuals;
}

void Conversation::load(const Json& json) {
  std::vector<Value> loaded;
  for (const Json& message : (json.is_object() ? json.at("messages") : json).as_array()) {
    message.at("role").as_text();
    loaded.emplace_back(message);
  }
  if (const Json* tools = json.is_object() ? json.find("tools") : nullptr; tools && !tools->is_null()) {
    set_tools(*tools);
  }
  messages_ = std::move(loaded);
}

std::string Conversation::to_json() const {
  jinja::JsonStyle style;
  style.indent = "  ";
  style.item_separator = ",";
  return jinja::json_text(Value::list(messages_), style);
}

void Conversation::clear() {
  const std::string text = system();
  messages_.clear();
  set_system(text);
}

size_t Conversation::last_user() const {
  size_t count = messages_.size();
  while (count > 0 && !has_role(messages_[count - 1], "user")) --count;
  return count;
}

bool Conversation::undo() {
  const size_t count = last_user();
  if (count > 0) messages_.resize(count - 1);
  return count > 0;
}

ChatPrompt Conversation::prompt() const {
  ChatInput input;
  input.messages = Value::list(messages_);
  if (tools_) input.tools = *tools_;
  return make_chat_prompt(model(), input, {}, visuals());
}

Reply Conversation::ask(std::string_view text, std::span<const Shown> shown, const GenerateParams& params,
                        ReplyCallback callback) {
  const size_t before = messages_.size();
  add_user(text, shown);
  try {
    Reply reply = answer(params, callback);
    if (came_to_nothing(reply.result)) messages_.resize(before);
    return reply;
  } catch (...) {
    messages_.resize(before);
    throw;
  }
}

Reply Conversation::answer(const GenerateParams& params, ReplyCallback callback) {
  const ChatPrompt prompt = this->prompt();
  const ResponseFormat format = response_format_of(model(), prompt.text, tools_.has_value());
  ResponseParser parser(format, tools_ ? &*tools_ : nullptr);
  GenerateParams generate = params;
  generate.embeddings = prompt.embeddings;
  generate.show_special = generate.show_special || needs_special(format, model().tokenizer());
  Reply reply;
  reply.result = generator_.generate(prompt.tokens, generate, [&](const GenerateEvent& event) {
    ResponseDelta delta = parser.feed(event.text);
    if (event.kind == GenerateEvent::Kind::kDone) {
      ResponseDelta rest = parser.finish();
      delta.reasoning += rest.reasoning;
      delta.content += rest.content;
      std::move(rest.tool_calls.begin(), rest.tool_calls.end(), std::back_inserter(delta.tool_calls));
    }
    return callback({event, delta});
  });
  reply.response = parser.response();
  if (!came_to_nothing(reply.result)) add_answer(reply.response);
  return reply;
}

std::optional<Reply> Conversation::answer_again(const GenerateParams& params, ReplyCallback callback) {
  const size_t count = last_user();
  if (count == 0) return std::nullopt;
  const std::vector<Value> before = messages_;
  messages_.resize(count);
  try {
    Reply reply = answer(params, callback);
    if (came_to_nothing(reply.result)) messages_ = before;
    return reply;
  } catch (...) {
    messages_ = before;
    throw;
  }
}

bool Conversation::came_to_nothing(const GenerateResult& result) {
  return result.reason == StopReason::kCancelled && result.tokens.empty();
}

void Conversation::add_answer(const Response& response) {
  Dict message;
  message.set("role", "assistant");
  message.set("content", response.content);
  std::vector<Value> calls;
  for (const ToolCall& call : response.tool_calls) {
    Dict function, entry;
    function.set("name", call.name);
    function.set("arguments", arguments_of(call));
    if (!call.id.empty()) entry.set("id", call.id);
    entry.set("type", "function");
    entry.set("function", Value(function));
    calls.emplace_back(std::move(entry));
  }
  if (!calls.empty()) message.set("tool_calls", Value::list(std::move(calls)));
  messages_.emplace_back(std::move(message));
}

}  // namespace wick
