// Anthropic's API: POST /v1/messages and /v1/messages/count_tokens.
#include "server/api/api.h"
#include "server/api/json_copy.h"
#include "server/api/messages/messages_request.h"
#include "server/api/messages/messages_writer.h"

namespace wick {

void Api::add_messages_routes(Router& router) {
  const RouteOptions options{.error_form = messages_error};
  add(router, "POST", "/v1/messages", &Api::messages, options);
  add(router, "POST", "/v1/messages/count_tokens", &Api::count_message_tokens, options);
}

void Api::messages(const HttpRequest& request, const Exchange& exchange) {
  ChatRequest chat = MessagesRequest::fields().read(json_body(request)).as_chat();
  fill_in(chat.model, chat);
  const auto wanted = keep_with_room(std::move(chat), request);
  converse(wanted, exchange, request.caller, [=](const std::string& model, ChatJob& job, const EngineRef&) {
    MessageAnswerOptions options;
    options.id = make_id("msg_");
    options.model = model;
    options.stream = wanted->stream;
    options.one_call = !wanted->parallel_tool_calls;
    options.prompt_tokens = std::ssize(job.request.prompt);
    options.format = job.format;
    options.tools = wanted->tool_list;
    return std::make_unique<MessagesWriter>(exchange, std::move(options));
  });
}

void Api::count_message_tokens(const HttpRequest& request, const Exchange& exchange) {
  ChatRequest chat = CountTokensRequest::fields().read(json_body(request)).as_chat();
  fill_in(chat.model, chat);
  const auto wanted = keep_with_room(std::move(chat), request);
  const auto count = [=](const std::string&, const EngineRef& engine) {
    exchange->send(json_response({{"input_tokens", chat_text(*wanted, engine->model()).prompt.tokens.size()}}));
  };
  with_engine(wanted->model, exchange, count, {request.caller.name, {}});
}

}  // namespace wick
