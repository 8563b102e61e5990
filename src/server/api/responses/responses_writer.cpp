#include "server/api/responses/responses_writer.h"

#include <fmt/format.h>

#include <utility>

#include "server/api/generation/token_logprobs.h"
#include "server/api/json_copy.h"

namespace wick {
namespace {

// The shortest decimal number that is this one.
OrderedJson float_json(const std::optional<float>& value) {
  return value ? OrderedJson::parse(fmt::format("{}", *value)) : OrderedJson();
}

OrderedJson tool_choice_json(const std::optional<ToolChoice>& choice) {
  if (!choice) return "auto";
  if (choice->allowed) {
    OrderedJson tools = OrderedJson::array();
    for (const std::string& name : *choice->allowed) tools.push_back({{"type", "function"}, {"name", name}});
    return {{"type", "allowed_tools"}, {"mode", choice->forces() ? "required" : "auto"}, {"tools", std::move(tools)}};
  }
  switch (choice->mode) {
    case ToolChoice::Mode::kAuto: return "auto";
    case ToolChoice::Mode::kNone: return "none";
    case ToolChoice::Mode::kRequired: return "required";
    case ToolChoice::Mode::kNamed: break;
  }
  return {{"type", "function"}, {"name", choice->name}};
}

OrderedJson tools_json(const std::vector<FlatTool>& tools) {
  OrderedJson list = OrderedJson::array();
  for (const FlatTool& tool : tools) {
    OrderedJson entry = {{"type", tool.type}, {"name", tool.name}};
    entry["description"] = tool.description ? OrderedJson(*tool.description) : OrderedJson();
    entry["parameters"] = tool.parameters ? to_ordered(*tool.parameters) : OrderedJson();
    entry["strict"] = tool.strict.value_or(false);
    list.push_back(std::move(entry));
  }
  return list;
}

OrderedJson format_json(const OutputFormat& format) {
  OrderedJson json = {{"type", format.type}};
  if (format.name) json["name"] = *format.name;
  if (const Json* schema = format.wanted_schema()) json["schema"] = to_ordered(*schema);
  return json;
}

template <typename T>
OrderedJson or_null(const std::optional<T>& value) {
  return value ? OrderedJson(*value) : OrderedJson();
}

// Sampling that the request does not mention is the model's, once that is there.
OrderedJson echo_of(const ResponsesRequest& request, const std::optional<SamplingParams>& sampling = {}) {
  const auto number = [&](const std::optional<float>& asked, float SamplingParams::*member) {
    return float_json(asked || !sampling ? asked : std::optional((*sampling).*member));
  };
  return {{"background", request.background},
          {"instructions", or_null(request.instructions)},
          {"max_output_tokens", or_null(request.max_output_tokens)},
          {"parallel_tool_calls", request.parallel_tool_calls},
          {"previous_response_id", or_null(request.previous_response_id)},
          {"reasoning",
           {{"effort", request.reasoning ? or_null(request.reasoning->effort) : OrderedJson()}, {"summary", nullptr}}},
          {"store", request.store || request.background},
          {"seed", or_null(request.seed)},
          {"temperature", number(request.temperature, &SamplingParams::temperature)},
          {"text", {{"format", format_json(request.text.format)}}},
          {"tool_choice", tool_choice_json(request.tool_choice)},
          {"tools", tools_json(request.tools)},
          {"top_logprobs", request.top_logprobs.value_or(0)},
          {"top_p", number(request.top_p, &SamplingParams::top_p)},
          {"truncation", request.truncation},
          {"user", or_null(request.user)},
          {"metadata", request.metadata ? to_ordered(*request.metadata) : OrderedJson::object()}};
}

// A response whose output is not known (yet).
OrderedJson bare_response(const AnswerHead& head, const OrderedJson& echo, std::string_view status) {
  OrderedJson response = {{"id", head.id},
                          {"object", "response"},
                          {"created_at", head.created},
                          {"status", status},
                          {"error", nullptr},
                          {"incomplete_details", nullptr},
                          {"model", head.model},
                          {"output", OrderedJson::array()}};
  response.update(echo);
  response["usage"] = nullptr;
  return response;
}

// Of "resp_abc": "abc".
std::string_view tail(std::string_view id) { return id.substr(id.find('_') + 1); }

OrderedJson usage_json(const Usage& usage) {
  return {{"input_tokens", usage.prompt_tokens},
          {"input_tokens_details", {{"cached_tokens", usage.prompt_tokens_details.cached_tokens}}},
          {"output_tokens", usage.completion_tokens},
          {"output_tokens_details", {{"reasoning_tokens", usage.completion_tokens_details.reasoning_tokens}}},
          {"total_tokens", usage.total_tokens}};
}

}  // namespace

OrderedJson response_without_output(const AnswerHead& head, const ResponsesRequest& request, std::string_view status) {
  return bare_response(head, echo_of(request), status);
}

ResponsesWriter::ResponsesWriter(std::shared_ptr<HttpExchange> exchange, AnswerHead head,
                                 const ResponsesRequest& request, const ResponseFormat& format, Json tools,
                                 ResponseSource source)
    : AnswerWriter(std::move(exchange)),
      head_(std::move(head)),
      stream_(request.stream && !request.background),
      echo_(echo_of(request, source.sampling)),
      tools_(std::move(tools)),
      reader_(format, tools_.is_array() ? &tools_ : nullptr, !request.parallel_tool_calls,
              {"call_", std::string(tail(head_.id))}),
      source_(std::move(source)),
      logprobs_(request.wants_logprobs()) {}

OrderedJson ResponsesWriter::part_json(const Item& item, bool is_done) const {
  const std::string text = is_done ? item.text : std::string();
  if (item.kind == Kind::kReasoning) return {{"type", "reasoning_text"}, {"text", text}};
  return {{"type", "output_text"},
          {"text", text},
          {"annotations", OrderedJson::array()},
          {"logprobs", is_done ? item.logprobs : OrderedJson::array()}};
}

OrderedJson ResponsesWriter::item_json(const Item& item, bool is_done) const {
  const char* status = !is_done ? "in_progress" : is_complete_ ? "completed" : "incomplete";
  OrderedJson content = OrderedJson::array();
  if (is_done) content.push_back(part_json(item, true));
  switch (item.kind) {
    case Kind::kReasoning:
      return {{"id", item.id}, {"type", "reasoning"}, {"summary", OrderedJson::array()}, {"content", content}};
    case Kind::kMessage:
      return {{"id", item.id}, {"type", "message"}, {"status", status}, {"role", "assistant"}, {"content", content}};
    case Kind::kCall: break;
  }
  return {{"id", item.id},           {"type", "function_call"}, {"status", status},
          {"call_id", item.call_id}, {"name", item.name},       {"arguments", is_done ? item.text : std::string()}};
}

OrderedJson ResponsesWriter::response_json(std::string_view status) const {
  OrderedJson response = bare_response(head_, echo_, status);
  response["output"] = output_;
  if (status == "incomplete") response["incomplete_details"] = {{"reason", "max_output_tokens"}};
  if (status != "in_progress") response["usage"] = usage_json(usage_.usage());
  return response;
}

// The same when the response is computed again: streams of it go on then.
std::string ResponsesWriter::item_id(std::string_view prefix) const {
  return cat(prefix, tail(head_.id), "_", output_.size() + (open_ ? 1 : 0));
}

void ResponsesWriter::add_event(OrderedJson event) {
  if (source_.on_event) return source_.on_event(std::move(event));
  if (!stream_) return;
  event["sequence_number"] = number_++;
  events_ += cat("event: ", event["type"].get_ref<const std::string&>(), "\ndata: ", to_text(event), "\n\n");
}

void ResponsesWriter::flush() {
  if (!events_.empty()) send_events(std::exchange(events_, {}));
}

void ResponsesWriter::open_item(Item item) {
  close_item();
  open_ = std::move(item);
  const auto index = output_.size();
  add_event({{"type", "response.output_item.added"}, {"output_index", index}, {"item", item_json(*open_, false)}});
  if (open_->kind == Kind::kCall) return;
  add_event({{"type", "response.content_part.added"},
             {"item_id", open_->id},
             {"output_index", index},
             {"content_index", 0},
             {"part", part_json(*open_, false)}});
}

void ResponsesWriter::close_item() {
  if (!open_) return;
  const Item& item = *open_;
  const auto index = output_.size();
  if (item.kind == Kind::kCall) {
    add_event({{"type", "response.function_call_arguments.done"},
               {"item_id", item.id},
               {"output_index", index},
               {"name", item.name},
               {"arguments", item.text}});
  } else {
    const bool is_message = item.kind == Kind::kMessage;
    OrderedJson done = {{"type", is_message ? "response.output_text.done" : "response.reasoning_text.done"},
                        {"item_id", item.id},
                        {"output_index", index},
                        {"content_index", 0},
                        {"text", item.text}};
    if (is_message) done["logprobs"] = item.logprobs;
    add_event(std::move(done));
    add_event({{"type", "response.content_part.done"},
               {"item_id", item.id},
               {"output_index", index},
               {"content_index", 0},
               {"part", part_json(item, true)}});
  }
  OrderedJson json = item_json(item, true);
  add_event({{"type", "response.output_item.done"}, {"output_index", index}, {"item", json}});
  output_.push_back(std::move(json));
  open_.reset();
}

void ResponsesWriter::add_text(Kind kind, std::string_view text) {
  if (text.empty()) return;
  const bool is_message = kind == Kind::kMessage;
  if (!open_ || open_->kind != kind) open_item({.kind = kind, .id = item_id(is_message ? "msg_" : "rs_")});
  open_->text += text;
  OrderedJson event = {{"type", is_message ? "response.output_text.delta" : "response.reasoning_text.delta"},
                       {"item_id", open_->id},
                       {"output_index", output_.size()},
                       {"content_index", 0},
                       {"delta", text}};
  OrderedJson logprobs = std::exchange(new_logprobs_, OrderedJson::array());
  if (is_message) {
    open_->logprobs.insert(open_->logprobs.end(), logprobs.begin(), logprobs.end());
    event["logprobs"] = std::move(logprobs);
  }
  add_event(std::move(event));
}

void ResponsesWriter::add(const ResponseDelta& delta) {
  if (!std::exchange(has_created_, true)) {
    if (stream_) add_event({{"type", "response.created"}, {"response", response_json("in_progress")}});
    add_event({{"type", "response.in_progress"}, {"response", response_json("in_progress")}});
  }
  add_text(Kind::kReasoning, delta.reasoning);
  add_text(Kind::kMessage, delta.content);
  for (const ToolCallDelta& part : delta.tool_calls) {
    if (!part.id.empty()) {
      open_item({.kind = Kind::kCall, .id = item_id("fc_"), .call_id = part.id, .name = part.name});
    }
    if (part.arguments.empty()) continue;
    open_->text += part.arguments;
    add_event({{"type", "response.function_call_arguments.delta"},
               {"item_id", open_->id},
               {"output_index", output_.size()},
               {"delta", part.arguments}});
  }
}

void ResponsesWriter::on_token(int64_t, const RequestEvent& event) {
  if (logprobs_ && event.token) {
    new_logprobs_.push_back(TokenLogprob::fields().write(token_logprob(*event.token, *source_.tokenizer)));
  }
  add(reader_.read(event));
  flush();
}

void ResponsesWriter::on_end(int64_t prompt, int64_t, const RequestEvent& event) {
  add(reader_.read(event));
  is_complete_ = finish_reason(*event.result, false) == "stop";
  close_item();
  usage_.add(prompt, *event.result, reader_.reasoning_tokens());
}

void ResponsesWriter::finish() {
  const std::string status = is_complete_ ? "completed" : "incomplete";
  const OrderedJson response = response_json(status);
  if (source_.keep) source_.keep(to_text(response));
  if (stream_) {
    add_event({{"type", cat("response.", status)}, {"response", response}});
    flush();
    exchange().finish();
    return;
  }
  HttpResponse whole;
  whole.body = to_text(response);
  exchange().send(std::move(whole));
}

}  // namespace wick
