#include "server/api/chat/chat_request.h"

#include "server/api/chat/shown_pictures.h"
#include "server/api/json_copy.h"

namespace wick {

const Fields<ToolRequest>& ToolRequest::fields() {
  using R = ToolRequest;
  static const Fields<R> fields = Fields<R>("Tool", BodyUse::kRequest)
                                      .add("type", &R::type, "")
                                      .required()
                                      .words({"function"})
                                      .add("function", &R::function, "The function that the model may call.")
                                      .required();
  return fields;
}

const Fields<ChatRequest>& ChatRequest::fields() {
  using R = ChatRequest;
  static const Fields<R> fields =
      Fields<R>("ChatCompletionRequest", BodyUse::kRequest)
          .add("messages", &R::messages, "The conversation so far.")
          .required()
          .add_all(ChoicesRequest::fields())
          .add("max_completion_tokens", &R::max_completion_tokens, "At most this many tokens, thinking included.")
          .range(1)
          .add("max_tokens", &R::max_tokens, "The older name of max_completion_tokens.")
          .range(1)
          .add("tools", &R::tools, "Functions that the model may call.")
          .add_all(ConversationOptions::fields())
          .add("response_format", &R::response_format, "What the answer's text is to be.")
          .add("logprobs", &R::logprobs, "Send the log-probability of each token.")
          .add("top_logprobs", &R::top_logprobs, "And of this many of the likeliest in its place.")
          .range(0, kMostTopLogprobs)
          .add("reasoning_effort", &R::reasoning_effort, "For templates that know it; none: no thinking.")
          .add("modalities", &R::modalities, "What the answer is made of.")
          .refuse("audio", "answers here are text")
          .refuse("functions", "it was replaced by tools")
          .refuse("function_call", "it was replaced by tool_choice")
          .refuse("web_search_options", "there is no search here");
  return fields;
}

void keep_allowed_tools(ChatRequest& request) {
  if (!request.tool_choice || !request.tool_choice->allowed) return;
  const std::vector<std::string>& allowed = *request.tool_choice->allowed;
  std::vector<ToolRequest> tools;
  OrderedJson list = OrderedJson::array();
  for (size_t i = 0; i < request.tools.size(); ++i) {
    if (std::find(allowed.begin(), allowed.end(), request.tools[i].function.name) == allowed.end()) continue;
    list.push_back(to_ordered(request.tool_list.as_array()[i]));
    tools.push_back(std::move(request.tools[i]));
  }
  request.tools = std::move(tools);
  request.tool_list = request.tools.empty() ? Json() : to_json(list, "tools");
}

ChatRequest ChatRequest::parse(const Json& body) {
  ChatRequest request = fields().read(body);
  if (!request.tools.empty()) request.tool_list = *body.find("tools");
  check_choices(request);
  check_messages(request.messages, "messages");
  decode_shown(request.messages, "messages");
  check_tool_results(request.messages, "messages");
  std::vector<std::string_view> functions;
  for (const ToolRequest& tool : request.tools) functions.emplace_back(tool.function.name);
  check_function_names(functions, ".function.name");
  check_tool_choice(request.tool_choice, functions);
  keep_allowed_tools(request);
  if (request.top_logprobs && !request.logprobs) {
    throw RequestError("top_logprobs", "top_logprobs is set, but logprobs is not true");
  }
  check_format(request.response_format, "response_format.json_schema");
  return request;
}

}  // namespace wick
