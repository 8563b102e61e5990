#include "server/api/chat/chat_writer.h"

#include "base/json_write.h"
#include "server/api/json_copy.h"

namespace wick {

ChatWhole::ChatWhole(std::shared_ptr<HttpExchange> exchange, ChatAnswerOptions options)
    : AnswerWriter(std::move(exchange)), options_(std::move(options)) {
  for (int64_t i = 0; i < options_.choices; ++i) {
    readers_.emplace_back(options_.format, options_.tools.is_array() ? &options_.tools : nullptr, options_.one_call);
    ChatChoice& choice = choices_.emplace_back();
    choice.index = i;
    if (options_.logprobs) choice.logprobs.emplace();
  }
}

void ChatWhole::on_token(int64_t choice, const RequestEvent& event) {
  const auto index = static_cast<size_t>(choice);
  readers_[index].read(event);
  if (options_.logprobs && event.token) {
    choices_[index].logprobs->content.push_back(token_logprob(*event.token, *options_.tokenizer));
  }
}

void ChatWhole::on_end(int64_t prompt, int64_t choice, const RequestEvent& event) {
  const auto index = static_cast<size_t>(choice);
  ChoiceReader& reader = readers_[index];
  reader.read(event);
  const Response& response = reader.response();
  ChatAnswerMessage& message = choices_[index].message;
  if (!response.reasoning.empty()) message.reasoning_content = response.reasoning;
  if (!response.content.empty() || response.tool_calls.empty()) message.content = response.content;
  if (!response.tool_calls.empty()) message.tool_calls.emplace();
  for (const ToolCall& call : response.tool_calls) {
    message.tool_calls->push_back({std::nullopt, call.id, "function", {call.name, call.arguments}});
  }
  choices_[index].finish_reason = finish_reason(*event.result, !response.tool_calls.empty());
  usage_.add(prompt, *event.result, reader.reasoning_tokens());
  if (options_.inspect_end) wick_ = options_.inspect_end(event.result->tokens);
}

void ChatWhole::finish() {
  ChatCompletion completion;
  completion.id = options_.head.id;
  completion.created = options_.head.created;
  completion.model = options_.head.model;
  completion.system_fingerprint = options_.head.fingerprint;
  completion.choices = std::move(choices_);
  completion.usage = usage_.usage();
  completion.wick = std::move(wick_);
  HttpResponse response;
  response.body = to_text(ChatCompletion::fields().write(completion));
  exchange().send(std::move(response));
}

std::string delta_json(const ResponseDelta& delta) {
  std::string json = "{";
  const auto add_text = [&](std::string_view name, std::string_view text) {
    if (text.empty()) return;
    if (json.size() > 1) json += ',';
    json += name;
    append_json_text(json, text);
  };
  add_text(R"("content":)", delta.content);
  add_text(R"("reasoning_content":)", delta.reasoning);
  if (!delta.tool_calls.empty()) {
    if (json.size() > 1) json += ',';
    json += R"("tool_calls":[)";
    for (const ToolCallDelta& part : delta.tool_calls) {
      if (json.back() != '[') json += ',';
      json += cat(R"({"index":)", part.index);
      if (!part.id.empty()) {
        json += R"(,"id":)";
        append_json_text(json, part.id);
        json += R"(,"type":"function","function":{"name":)";
        append_json_text(json, part.name);
        json += ',';
      } else {
        json += R"(,"function":{)";
      }
      json += R"("arguments":)";
      append_json_text(json, part.arguments);
      json += "}}";
    }
    json += ']';
  }
  return json += '}';
}

ChatStream::ChatStream(std::shared_ptr<HttpExchange> exchange, ChatAnswerOptions options)
    : AnswerWriter(std::move(exchange)), options_(std::move(options)) {
  for (int64_t i = 0; i < options_.choices; ++i) {
    choices_.push_back(
        {ChoiceReader(options_.format, options_.tools.is_array() ? &options_.tools : nullptr, options_.one_call), {}});
  }
  ChatChunk chunk;
  chunk.id = options_.head.id;
  chunk.created = options_.head.created;
  chunk.model = options_.head.model;
  chunk.system_fingerprint = options_.head.fingerprint;
  const std::string whole = to_text(ChatChunk::fields().write(chunk));  // {...,"choices":[]}
  before_choice_ = cat("data: ", std::string_view(whole).substr(0, whole.size() - 2));
  behind_choice_ = options_.include_usage ? "],\"usage\":null}\n\n" : "]}\n\n";
}

void ChatStream::append_chunk(std::string& events, size_t index, std::string_view delta, std::string_view reason) {
  std::string& logprobs = choices_[index].logprobs;
  events += cat(before_choice_, R"({"index":)", index, R"(,"delta":)", delta, R"(,"logprobs":)");
  if (logprobs.empty()) {
    events += "null";
  } else {
    events += cat(R"({"content":[)", logprobs, "]}");
    logprobs.clear();
  }
  events += R"(,"finish_reason":)";
  if (reason.empty()) {
    events += "null";
  } else {
    append_json_text(events, reason);
  }
  events += '}';
  events += behind_choice_;
}

void ChatStream::begin_choice(std::string& events, size_t index) {
  if (choices_[index].has_begun) return;
  choices_[index].has_begun = true;
  append_chunk(events, index, R"({"role":"assistant","content":""})", {});
}

void ChatStream::on_token(int64_t choice, const RequestEvent& event) {
  const auto index = static_cast<size_t>(choice);
  std::string events;
  begin_choice(events, index);
  Choice& state = choices_[index];
  if (options_.logprobs && event.token) {
    if (!state.logprobs.empty()) state.logprobs += ',';
    state.logprobs += to_text(TokenLogprob::fields().write(token_logprob(*event.token, *options_.tokenizer)));
  }
  const ResponseDelta delta = state.reader.read(event);
  if (!delta.empty()) append_chunk(events, index, delta_json(delta), {});
  if (!events.empty()) send_events(std::move(events));
}

void ChatStream::on_end(int64_t prompt, int64_t choice, const RequestEvent& event) {
  const auto index = static_cast<size_t>(choice);
  std::string events;
  begin_choice(events, index);
  ChoiceReader& reader = choices_[index].reader;
  const ResponseDelta delta = reader.read(event);
  if (!delta.empty()) append_chunk(events, index, delta_json(delta), {});
  append_chunk(events, index, "{}", finish_reason(*event.result, !reader.response().tool_calls.empty()));
  usage_.add(prompt, *event.result, reader.reasoning_tokens());
  timings_ = timings_of(*event.result);
  if (options_.inspect_end) {
    events += cat(before_choice_, "],\"wick\":", to_text(options_.inspect_end(event.result->tokens)), "}\n\n");
  }
  send_events(std::move(events));
}

void ChatStream::finish() {
  std::string events;
  if (options_.include_usage) {
    events = cat(before_choice_, "],\"usage\":", to_text(Usage::fields().write(usage_.usage())));
    if (options_.choices == 1) events += cat(",\"timings\":", to_text(Timings::fields().write(timings_)));
    events += "}\n\n";
  }
  send_events(events + "data: [DONE]\n\n");
  exchange().finish();
}

}  // namespace wick
