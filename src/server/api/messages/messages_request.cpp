#include "server/api/messages/messages_request.h"

#include "base/utf8.h"
#include "server/api/chat/shown_pictures.h"
#include "server/api/json_copy.h"

namespace wick {
namespace {

struct TextBlock {
  std::string text;
  static const Fields<TextBlock>& fields() {
    static const Fields<TextBlock> fields =
        Fields<TextBlock>("TextBlock", BodyUse::kRequest).add("text", &TextBlock::text, "What is said.").required();
    return fields;
  }
};
struct ThinkingBlock {
  std::string thinking;
  static const Fields<ThinkingBlock>& fields() {
    static const Fields<ThinkingBlock> fields = Fields<ThinkingBlock>("ThinkingBlock", BodyUse::kRequest)
                                                    .add("thinking", &ThinkingBlock::thinking, "What was thought.")
                                                    .required();
    return fields;
  }
};
struct ToolUseBlock {
  std::string id, name;
  Json input;
  static const Fields<ToolUseBlock>& fields() {
    using R = ToolUseBlock;
    static const Fields<R> fields = Fields<R>("ToolUseBlock", BodyUse::kRequest)
                                        .add("id", &R::id, "What its result refers to.")
                                        .required()
                                        .add("name", &R::name, "Which tool.")
                                        .required()
                                        .add("input", &R::input, "Its arguments.")
                                        .required();
    return fields;
  }
};
struct ToolResultBlock {
  std::string tool_use_id;
  TextContent content;
  bool is_error = false;
  static const Fields<ToolResultBlock>& fields() {
    using R = ToolResultBlock;
    static const Fields<R> fields = Fields<R>("ToolResultBlock", BodyUse::kRequest)
                                        .add("tool_use_id", &R::tool_use_id, "The call that this answers.")
                                        .required()
                                        .add("content", &R::content, "What the tool returned.")
                                        .add("is_error", &R::is_error, "It failed; changes nothing.");
    return fields;
  }
};

template <typename T>
T read_block(const Json& value, const std::string& at) {
  T block;
  T::fields().read(value, at, block);
  return block;
}

void check_role(const MessageBlock& block, const std::string& role, const char* wanted, const std::string& at) {
  if (role == wanted) return;
  throw RequestError(
      at, cat(at, " is of the type ", in_quotes(block.type), ", which belongs to a message of the ", wanted));
}

ChatMessage& add_message(ChatRequest& chat, const std::string& role) {
  ChatMessage& message = chat.messages.emplace_back();
  message.role = role;
  return message;
}

void add_text(ChatMessage& message, const std::string& text) {
  if (!message.content) message.content.emplace();
  message.content->text += text;
  message.content->parts.push_back({ContentPart::Kind::kText, text});
}

// Results of tools are messages of their own.
void add_to(ChatRequest& chat, const InputMessage& from, const std::string& at) {
  const std::string role = from.role;
  ChatMessage* message = nullptr;
  for (size_t i = 0; i < from.content.list.size(); ++i) {
    const MessageBlock& block = from.content.list[i];
    const std::string place = cat(at, ".content[", i, "]");
    if (block.type == "tool_result") {
      check_role(block, role, "user", place);
      ChatMessage& result = add_message(chat, "tool");
      result.tool_call_id = block.tool_use_id;
      result.content = block.content;
      message = nullptr;
      continue;
    }
    if (!message) message = &add_message(chat, role);
    if (block.type == "text") {
      add_text(*message, block.text);
    } else if (block.type == "image") {
      check_role(block, role, "user", place);
      if (!message->content) message->content.emplace();
      message->content->parts.push_back(block.content.parts.front());
    } else if (block.type == "tool_use") {
      check_role(block, role, "assistant", place);
      message->tool_calls.push_back({block.id, "function", {block.name, to_text(to_ordered(block.input))}});
    } else if (block.type == "thinking") {
      check_role(block, role, "assistant", place);
      if (!message->reasoning_content) message->reasoning_content.emplace();
      *message->reasoning_content += block.text;
    }
  }
  if (from.content.list.empty()) add_text(add_message(chat, role), "");
}

// A message of thinking alone says nothing.
void fill_empty(ChatRequest& chat) {
  for (ChatMessage& message : chat.messages) {
    if (!message.content && message.tool_calls.empty()) message.content.emplace();
    if (message.content) drop_plain_parts(*message.content);
  }
}

void set_tool_choice(const std::optional<MessageToolChoice>& wanted, ChatRequest& chat) {
  if (!wanted) return;
  using Mode = ToolChoice::Mode;
  ToolChoice& choice = chat.tool_choice.emplace();
  choice.mode = wanted->type == "none"   ? Mode::kNone
                : wanted->type == "any"  ? Mode::kRequired
                : wanted->type == "tool" ? Mode::kNamed
                                         : Mode::kAuto;
  choice.name = wanted->name;
  if (choice.mode == Mode::kNamed && choice.name.empty()) {
    throw RequestError("tool_choice.name", "tool_choice.name is missing", "missing_required_parameter");
  }
  chat.parallel_tool_calls = !wanted->disable_parallel_tool_use;
}

}  // namespace

OrderedJson FieldKind<MessageBlocks>::schema(SchemaSet& set) {
  OrderedJson blocks = {{"anyOf",
                         {set.reference<TextBlock>(), set.reference<ThinkingBlock>(), set.reference<ToolUseBlock>(),
                          set.reference<ToolResultBlock>()}}};
  return {{"anyOf", {{{"type", "string"}}, {{"type", "array"}, {"items", std::move(blocks)}}}}};
}

void FieldKind<MessageBlocks>::read(const Json& value, const std::string& place, const Limits&, MessageBlocks& out) {
  if (value.is_text()) {
    out.list.push_back({.type = "text", .text = value.as_text()});
    return;
  }
  if (!value.is_array()) throw wrong_kind(place, value, "text or a list of blocks");
  for (size_t i = 0; i < value.as_array().size(); ++i) {
    const Json& item = value.as_array()[i];
    const std::string at = cat(place, "[", i, "]");
    if (!item.is_object()) throw wrong_kind(at, item, "an object");
    MessageBlock block;
    const Json* type = item.find("type");
    if (!type) throw RequestError(at + ".type", cat(at, ".type is missing"), "missing_required_parameter");
    FieldKind<std::string>::read(*type, at + ".type", {}, block.type);
    if (block.type == "text") {
      block.text = read_block<TextBlock>(item, at).text;
    } else if (block.type == "thinking") {
      block.text = read_block<ThinkingBlock>(item, at).thinking;
    } else if (block.type == "tool_use") {
      auto call = read_block<ToolUseBlock>(item, at);
      block.id = std::move(call.id);
      block.name = std::move(call.name);
      block.input = std::move(call.input);
    } else if (block.type == "tool_result") {
      auto result = read_block<ToolResultBlock>(item, at);
      block.tool_use_id = std::move(result.tool_use_id);
      block.content = std::move(result.content);
    } else if (block.type == "image") {
      block.content.parts.push_back(read_content_part(item, at));
    } else if (block.type != "redacted_thinking") {
      throw RequestError(at + ".type",
                         cat(at, ".type is ", in_quotes(block.type), ", and models here read text and pictures"),
                         "unsupported_value");
    }
    out.list.push_back(std::move(block));
  }
}

const Fields<InputMessage>& InputMessage::fields() {
  using R = InputMessage;
  static const Fields<R> fields = Fields<R>("InputMessage", BodyUse::kRequest)
                                      .add("role", &R::role, "Who speaks.")
                                      .required()
                                      .words({"user", "assistant", "system"})
                                      .add("content", &R::content, "What is said: text, or a list of blocks.")
                                      .required();
  return fields;
}

const Fields<MessageTool>& MessageTool::fields() {
  using R = MessageTool;
  static const Fields<R> fields = Fields<R>("MessageTool", BodyUse::kRequest)
                                      .add("type", &R::type, "Only custom: the server has no tools of its own.")
                                      .words({"custom"})
                                      .add("name", &R::name, "Its name.")
                                      .required()
                                      .add("description", &R::description, "What it does, for the model to read.")
                                      .add("input_schema", &R::input_schema, "JSON Schema of its arguments.")
                                      .required();
  return fields;
}

const Fields<MessageToolChoice>& MessageToolChoice::fields() {
  using R = MessageToolChoice;
  static const Fields<R> fields =
      Fields<R>("MessageToolChoice", BodyUse::kRequest)
          .add("type", &R::type, "Whether it may call none, any, must call one, or which.")
          .required()
          .words({"auto", "any", "tool", "none"})
          .add("name", &R::name, "With tool: which.")
          .add("disable_parallel_tool_use", &R::disable_parallel_tool_use, "One call at most.");
  return fields;
}

const Fields<ThinkingOptions>& ThinkingOptions::fields() {
  using R = ThinkingOptions;
  static const Fields<R> fields =
      Fields<R>("ThinkingOptions", BodyUse::kRequest)
          .add("type", &R::type, "Whether the model is to think first, for those that do.")
          .required()
          .words({"enabled", "disabled", "adaptive"})
          .add("budget_tokens", &R::budget_tokens, "A wish that changes nothing; max_tokens counts thoughts, too.")
          .range(1);
  return fields;
}

const Fields<OutputConfig>& OutputConfig::fields() {
  using R = OutputConfig;
  static const Fields<R> fields =
      Fields<R>("OutputConfig", BodyUse::kRequest)
          .add("format", &R::format, "With json_schema: the schema that the answer satisfies.")
          .add("effort", &R::effort, "For templates that know it.");
  return fields;
}

const Fields<CountTokensRequest>& CountTokensRequest::fields() {
  using R = CountTokensRequest;
  static const Fields<R> fields = Fields<R>("CountTokensRequest", BodyUse::kRequest)
                                      .add("model", &R::model, "Which model.")
                                      .required()
                                      .add("messages", &R::messages, "The conversation so far.")
                                      .required()
                                      .add("system", &R::system, "The system message.")
                                      .add("tools", &R::tools, "Functions that the model may call.")
                                      .add("tool_choice", &R::tool_choice, "Whether it is to call them.")
                                      .add("thinking", &R::thinking, "Off when it is left out.")
                                      .add("output_config", &R::output_config, "What the answer is to be.")
                                      .refuse("mcp_servers", "Wick calls no other servers")
                                      .refuse("container", "Wick runs no code");
  return fields;
}

ChatRequest CountTokensRequest::as_chat() const {
  ChatRequest chat;
  chat.model = model;
  if (system) add_message(chat, "system").content = system;
  if (messages.empty()) throw RequestError("messages", "messages is empty");
  for (size_t i = 0; i < messages.size(); ++i) add_to(chat, messages[i], cat("messages[", i, "]"));
  fill_empty(chat);
  check_messages(chat.messages, "messages");
  decode_shown(chat.messages, "messages");
  std::vector<std::string_view> names;
  OrderedJson list = OrderedJson::array();
  for (const MessageTool& tool : tools) {
    names.emplace_back(tool.name);
    chat.tools.push_back({"function", {tool.name, tool.description, tool.input_schema, {}}});
    list.push_back(tool_json(chat.tools.back().function));
  }
  if (!tools.empty()) chat.tool_list = to_json(list, "tools");
  check_function_names(names, ".name", 128);
  set_tool_choice(tool_choice, chat);
  check_tool_choice(chat.tool_choice, names);
  chat.enable_thinking = thinking && thinking->type != "disabled";
  chat.reasoning_effort = output_config.effort;
  if (output_config.format) {
    chat.response_format = *output_config.format;
    check_format(chat.response_format, "output_config.format.schema");
  }
  return chat;
}

const Fields<MessagesRequest>& MessagesRequest::fields() {
  using R = MessagesRequest;
  static const Fields<R> fields =
      Fields<R>("CreateMessageRequest", BodyUse::kRequest)
          .add_all(CountTokensRequest::fields())
          .add("max_tokens", &R::max_tokens, "At most this many tokens, thinking included.")
          .required()
          .range(1)
          .add("stream", &R::stream, "Send the answer while it is generated, as server-sent events.")
          .add("temperature", &R::temperature, "0: always the most likely token; higher: bolder.")
          .range(0, 1)
          .add("top_p", &R::top_p, "Only the most likely tokens whose probabilities add up to this.")
          .range(0, 1)
          .add("top_k", &R::top_k, "Only this many of the most likely tokens; 0: all.")
          .range(0)
          .add("stop_sequences", &R::stop_sequences, "Texts that end the answer; they are not part of it.");
  return fields;
}

ChatRequest MessagesRequest::as_chat() const {
  ChatRequest chat = CountTokensRequest::as_chat();
  if (chat.messages.back().role == "assistant") {
    throw RequestError("messages",
                       "messages ends with one of the assistant, and Wick does not continue what it is said to have "
                       "written; end with one of the user",
                       "unsupported_value");
  }
  chat.max_completion_tokens = max_tokens;
  chat.stream = stream;
  chat.temperature = temperature;
  chat.top_p = top_p;
  chat.top_k = top_k;
  chat.stop.texts = stop_sequences;
  check_choices(chat, kMostStops);
  return chat;
}

}  // namespace wick
