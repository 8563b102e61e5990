#include "server/api/messages/messages_writer.h"

#include <utility>

#include "server/api/json_copy.h"
#include "server/http/error_response.h"

namespace wick {
namespace {

OrderedJson usage_of(int64_t prompt, int64_t cached, int64_t output) {
  return {{"input_tokens", prompt - cached},
          {"cache_creation_input_tokens", 0},
          {"cache_read_input_tokens", cached},
          {"output_tokens", output}};
}

const char* stop_reason_of(const GenerateResult& result, bool has_calls) {
  switch (result.reason) {
    case StopReason::kEndOfText: return has_calls ? "tool_use" : "end_turn";
    case StopReason::kStopString: return "stop_sequence";
    case StopReason::kContextFull: return "model_context_window_exceeded";
    default: return "max_tokens";
  }
}

// Anthropic's names.
std::string type_of(int status, const std::string& type) {
  switch (status) {
    case 404: return "not_found_error";
    case 413: return "request_too_large";
    default: return type == "server_error" ? "api_error" : type;
  }
}

std::string error_text(int status, const HttpResponse& error) {
  return to_text({{"type", "error"},
                  {"error", {{"type", type_of(status, error_type(error))}, {"message", error_message(error)}}}});
}

}  // namespace

HttpResponse messages_error(HttpResponse error) {
  error.body = error_text(error.status, error) + "\n";
  return error;
}

MessagesWriter::MessagesWriter(std::shared_ptr<HttpExchange> exchange, MessageAnswerOptions options)
    : AnswerWriter(std::move(exchange)),
      options_(std::move(options)),
      reader_(options_.format, options_.tools.is_array() ? &options_.tools : nullptr, options_.one_call,
              {"toolu_", {}}),
      usage_(usage_of(options_.prompt_tokens, 0, 0)) {}

std::string MessagesWriter::error_event(const std::string& error) const {
  HttpResponse response;
  response.body = error;
  return cat("event: error\ndata: ", error_text(0, response), "\n\n");
}

OrderedJson MessagesWriter::message_json() const {
  return {{"id", options_.id},
          {"type", "message"},
          {"role", "assistant"},
          {"model", options_.model},
          {"content", content_},
          {"stop_reason", stop_reason_},
          {"stop_sequence", stop_sequence_},
          {"usage", usage_}};
}

void MessagesWriter::add_event(OrderedJson event) {
  if (!options_.stream) return;
  events_ += cat("event: ", event["type"].get_ref<const std::string&>(), "\ndata: ", to_text(event), "\n\n");
}

void MessagesWriter::flush() {
  if (!events_.empty()) send_events(std::exchange(events_, {}));
}

void MessagesWriter::open_block(Block block) {
  close_block();
  open_ = std::move(block);
  OrderedJson json = {{"type", "text"}, {"text", ""}};
  if (open_->kind == Kind::kThinking) json = {{"type", "thinking"}, {"thinking", ""}, {"signature", ""}};
  if (open_->kind == Kind::kCall) {
    json = {{"type", "tool_use"}, {"id", open_->call.id}, {"name", open_->call.name}, {"input", OrderedJson::object()}};
  }
  add_event({{"type", "content_block_start"}, {"index", content_.size()}, {"content_block", std::move(json)}});
}

void MessagesWriter::close_block() {
  if (!open_) return;
  const Block block = *std::exchange(open_, std::nullopt);
  add_event({{"type", "content_block_stop"}, {"index", content_.size()}});
  if (block.kind == Kind::kThinking) {
    content_.push_back({{"type", "thinking"}, {"thinking", block.text}, {"signature", ""}});
  } else if (block.kind == Kind::kText) {
    content_.push_back({{"type", "text"}, {"text", block.text}});
  } else if (auto input = call_arguments(block.call)) {
    content_.push_back(
        {{"type", "tool_use"}, {"id", block.call.id}, {"name", block.call.name}, {"input", std::move(*input)}});
  } else {
    content_.push_back({{"type", "text"}, {"text", block.call.arguments}});
  }
}

void MessagesWriter::add_text(Kind kind, std::string_view text) {
  if (text.empty()) return;
  if (!open_ || open_->kind != kind) open_block({kind, {}, {}});
  open_->text += text;
  const bool is_text = kind == Kind::kText;
  OrderedJson delta = {{"type", is_text ? "text_delta" : "thinking_delta"}};
  delta[is_text ? "text" : "thinking"] = text;
  add_event({{"type", "content_block_delta"}, {"index", content_.size()}, {"delta", std::move(delta)}});
}

void MessagesWriter::add(const ResponseDelta& delta) {
  if (!std::exchange(has_started_, true)) add_event({{"type", "message_start"}, {"message", message_json()}});
  add_text(Kind::kThinking, delta.reasoning);
  add_text(Kind::kText, delta.content);
  for (const ToolCallDelta& part : delta.tool_calls) {
    if (!part.id.empty()) open_block({Kind::kCall, {part.id, part.name, {}}, {}});
    if (part.arguments.empty()) continue;
    open_->call.arguments += part.arguments;
    add_event({{"type", "content_block_delta"},
               {"index", content_.size()},
               {"delta", {{"type", "input_json_delta"}, {"partial_json", part.arguments}}}});
  }
}

void MessagesWriter::on_token(int64_t, const RequestEvent& event) {
  add(reader_.read(event));
  flush();
}

void MessagesWriter::on_end(int64_t, int64_t, const RequestEvent& event) {
  add(reader_.read(event));
  close_block();
  const GenerateResult& result = *event.result;
  stop_reason_ = stop_reason_of(result, !reader_.response().tool_calls.empty());
  if (result.reason == StopReason::kStopString) stop_sequence_ = result.stop;
  usage_ = usage_of(result.prompt_tokens, result.reused_tokens, std::ssize(result.tokens));
}

void MessagesWriter::finish() {
  if (options_.stream) {
    add_event({{"type", "message_delta"},
               {"delta", {{"stop_reason", stop_reason_}, {"stop_sequence", stop_sequence_}}},
               {"usage", usage_}});
    add_event({{"type", "message_stop"}});
    flush();
    exchange().finish();
    return;
  }
  exchange().send(json_response(message_json()));
}

}  // namespace wick
