#include "server/api/responses/responses_request.h"

#include "base/utf8.h"
#include "server/api/chat/shown_pictures.h"
#include "server/api/json_copy.h"

namespace wick {
namespace {

struct CallItem {
  std::string call_id, name, arguments;
  static const Fields<CallItem>& fields() {
    using R = CallItem;
    static const Fields<R> fields = Fields<R>("FunctionCallItem", BodyUse::kRequest)
                                        .add("call_id", &R::call_id, "What its output refers to.")
                                        .required()
                                        .add("name", &R::name, "Which function.")
                                        .required()
                                        .add("arguments", &R::arguments, "JSON text of an object.")
                                        .required();
    return fields;
  }
};

struct OutputItem {
  std::string call_id;
  TextContent output;
  static const Fields<OutputItem>& fields() {
    using R = OutputItem;
    static const Fields<R> fields = Fields<R>("FunctionCallOutputItem", BodyUse::kRequest)
                                        .add("call_id", &R::call_id, "The call that this answers.")
                                        .required()
                                        .add("output", &R::output, "What the function returned.")
                                        .required();
    return fields;
  }
};

// Calls belong to the message of the assistant before them.
ChatMessage& assistant_message(std::vector<ChatMessage>& messages) {
  if (messages.empty() || messages.back().role != "assistant") {
    messages.emplace_back();
    messages.back().role = "assistant";
  }
  return messages.back();
}

void read_item(const Json& item, const std::string& at, std::vector<ChatMessage>& messages) {
  if (!item.is_object()) throw wrong_kind(at, item, "an object");
  std::string type = "message";
  if (const Json* given = item.find("type")) FieldKind<std::string>::read(*given, at + ".type", {}, type);
  if (type == "message") {
    ChatMessage message;
    ChatMessage::fields().read(item, at, message);
    messages.push_back(std::move(message));
  } else if (type == "function_call") {
    CallItem call;
    CallItem::fields().read(item, at, call);
    assistant_message(messages).tool_calls.push_back({call.call_id, "function", {call.name, call.arguments}});
  } else if (type == "function_call_output") {
    OutputItem output;
    OutputItem::fields().read(item, at, output);
    ChatMessage message;
    message.role = "tool";
    message.content = output.output;
    message.tool_call_id = output.call_id;
    messages.push_back(std::move(message));
  } else if (type != "reasoning") {  // templates leave out what was thought in earlier turns
    check_word(at + ".type", type, {.words = {"message", "function_call", "function_call_output", "reasoning"}});
  }
}

}  // namespace

OrderedJson FieldKind<ResponsesInput>::schema(SchemaSet& set) {
  OrderedJson items = {
      {"anyOf", {set.reference<ChatMessage>(), set.reference<CallItem>(), set.reference<OutputItem>()}}};
  return {{"anyOf", {{{"type", "string"}}, {{"type", "array"}, {"items", std::move(items)}}}}};
}

void FieldKind<ResponsesInput>::read(const Json& value, const std::string& place, const Limits&, ResponsesInput& out) {
  if (value.is_text()) {
    ChatMessage& message = out.messages.emplace_back();
    message.role = "user";
    message.content = TextContent{value.as_text()};
    return;
  }
  if (!value.is_array()) throw wrong_kind(place, value, "text or a list of items");
  for (size_t i = 0; i < value.as_array().size(); ++i) {
    read_item(value.as_array()[i], cat(place, "[", i, "]"), out.messages);
  }
  if (out.messages.empty()) throw RequestError(place, cat(place, " is empty"));
}

const Fields<FlatTool>& FlatTool::fields() {
  static const Fields<FlatTool> fields = Fields<FlatTool>("FunctionTool", BodyUse::kRequest)
                                             .add("type", &FlatTool::type, "")
                                             .required()
                                             .words({"function"})
                                             .add_all(FunctionRequest::fields());
  return fields;
}

const Fields<TextOptions>& TextOptions::fields() {
  static const Fields<TextOptions> fields =
      Fields<TextOptions>("TextOptions", BodyUse::kRequest)
          .add("format", &TextOptions::format, "What the answer's text is to be.");
  return fields;
}

const Fields<ReasoningOptions>& ReasoningOptions::fields() {
  static const Fields<ReasoningOptions> fields =
      Fields<ReasoningOptions>("ReasoningOptions", BodyUse::kRequest)
          .add("effort", &ReasoningOptions::effort, "For templates that know it; none: no thinking.");
  return fields;
}

const Fields<ResponsesRequest>& ResponsesRequest::fields() {
  using R = ResponsesRequest;
  static const Fields<R> fields =
      Fields<R>("CreateResponseRequest", BodyUse::kRequest)
          .add("input", &R::input, "What is answered: a text, or the conversation so far as items.")
          .required()
          .add("instructions", &R::instructions, "The system message.")
          .add_all(SamplingRequest::fields())
          .add("max_output_tokens", &R::max_output_tokens, "At most this many tokens, thinking included.")
          .range(1)
          .add("tools", &R::tools, "Functions that the model may call.")
          .add_all(ConversationOptions::fields())
          .add("text", &R::text, "What the answer's text is to be.")
          .add("reasoning", &R::reasoning, "How much thinking.")
          .add("metadata", &R::metadata, "Sent back as it is.")
          .add("background", &R::background,
               "Answer later, at GET /v1/responses/{id}; with stream, there, too. Needs --journal.")
          .add("store", &R::store, "Keep the response for a while, to be asked for again and continued.")
          .add("previous_response_id", &R::previous_response_id, "A response that was kept: input continues it.")
          .add("include", &R::include, "What the response also tells.")
          .words({"message.output_text.logprobs", "reasoning.encrypted_content"})
          .add("top_logprobs", &R::top_logprobs, "With the log-probabilities: this many of the likeliest.")
          .range(0, kMostTopLogprobs)
          .add("truncation", &R::truncation, "auto: leave out the oldest turns of what is longer than the context.")
          .words({"auto", "disabled"})
          .refuse("conversation", "Wick keeps no conversations; send the conversation as input")
          .refuse("prompt", "Wick keeps no prompts; send the text as input")
          .refuse("wick", "it is a field of /v1/chat/completions and /v1/completions");
  return fields;
}

ResponsesRequest ResponsesRequest::parse(const Json& body) {
  ResponsesRequest request = fields().read(body);
  check_messages(request.input.messages, "input");
  decode_shown(request.input.messages, "input");
  check_format(request.text.format, "text.format.schema");
  if (request.text.format.type == "json_schema" && !request.text.format.name) {
    throw RequestError("text.format.name", "text.format.name is missing", "missing_required_parameter");
  }
  std::vector<std::string_view> functions;
  for (const FlatTool& tool : request.tools) functions.emplace_back(tool.name);
  check_function_names(functions, ".name");
  check_tool_choice(request.tool_choice, functions);
  return request;
}

bool ResponsesRequest::wants_logprobs() const {
  return std::find(include.begin(), include.end(), "message.output_text.logprobs") != include.end();
}

ChatRequest ResponsesRequest::as_chat() const {
  ChatRequest chat;
  static_cast<SamplingRequest&>(chat) = *this;
  static_cast<ConversationOptions&>(chat) = *this;
  if (instructions) {
    ChatMessage& first = chat.messages.emplace_back();
    first.role = "system";
    first.content = TextContent{*instructions};
  }
  chat.messages.insert(chat.messages.end(), input.messages.begin(), input.messages.end());
  OrderedJson list = OrderedJson::array();
  for (const FlatTool& tool : tools) {
    chat.tools.push_back({tool.type, tool});
    list.push_back(tool_json(tool));
  }
  if (!tools.empty()) chat.tool_list = to_json(list, "tools");
  chat.response_format = text.format;
  chat.max_completion_tokens = max_output_tokens;
  if (reasoning) chat.reasoning_effort = reasoning->effort;
  chat.logprobs = wants_logprobs();
  chat.top_logprobs = top_logprobs;
  chat.truncates = truncation == "auto";
  keep_allowed_tools(chat);
  return chat;
}

}  // namespace wick
