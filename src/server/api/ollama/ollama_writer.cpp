#include "server/api/ollama/ollama_writer.h"

#include <utility>

#include "server/api/json_copy.h"
#include "server/http/error_response.h"
#include "server/http/utc_time.h"

namespace wick {
namespace {

int64_t nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

int64_t nanoseconds(EngineClock::duration time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

}  // namespace

std::string ollama_time(std::chrono::system_clock::time_point time) { return utc_time(time, 9); }

HttpResponse ollama_error(HttpResponse error) {
  const std::string message = error_message(error);
  error.body = to_text({{"error", message}}) + "\n";
  return error;
}

OrderedJson ollama_end(const GenerateResult& result, EngineClock::time_point asked, EngineClock::time_point begun,
                       EngineClock::time_point now) {
  return {{"done", true},
          {"done_reason", finish_reason(result, false)},
          {"total_duration", nanoseconds(now - asked)},
          {"load_duration", nanoseconds(begun - asked)},
          {"prompt_eval_count", result.prompt_tokens},
          {"prompt_eval_duration", nanoseconds(result.prefill_seconds)},
          {"eval_count", result.tokens.size()},
          {"eval_duration", nanoseconds(result.decode_seconds)}};
}

OllamaWriter::OllamaWriter(std::shared_ptr<HttpExchange> exchange, OllamaAnswerOptions options)
    : AnswerWriter(std::move(exchange)),
      options_(std::move(options)),
      reader_(options_.format, options_.tools.is_array() ? &options_.tools : nullptr, false) {}

HttpResponse OllamaWriter::stream_head() const {
  HttpResponse head = AnswerWriter::stream_head();
  head.content_type = "application/x-ndjson";
  return head;
}

std::string OllamaWriter::error_event(const std::string& error) const {
  HttpResponse response;
  response.body = error;
  return ollama_error(std::move(response)).body;
}

// A call is told of once it is whole: another one has begun, or the answer is over.
void OllamaWriter::take(const RequestEvent& event) {
  const ResponseDelta delta = reader_.read(event);
  part_.text += delta.content;
  part_.thinking += delta.reasoning;
  if (options_.logprobs && event.token) {
    part_.logprobs.push_back(TokenLogprob::fields().write(token_logprob(*event.token, *options_.tokenizer)));
  }
  const std::vector<ToolCall>& calls = reader_.response().tool_calls;
  const size_t open = event.kind == RequestEvent::Kind::kEnd ? 0 : 1;
  for (; calls_ + open < calls.size(); ++calls_) {
    const ToolCall& call = calls[calls_];
    if (auto arguments = call_arguments(call)) {
      OrderedJson function = {{"index", calls_}, {"name", call.name}, {"arguments", std::move(*arguments)}};
      part_.calls.push_back({{"id", call.id}, {"function", std::move(function)}});
    } else {
      part_.text += call.arguments;
    }
  }
}

OrderedJson OllamaWriter::line() {
  Part part = std::exchange(part_, {});
  OrderedJson line = {{"model", options_.model}, {"created_at", ollama_time()}};
  if (options_.is_chat) {
    OrderedJson message = {{"role", "assistant"}, {"content", std::move(part.text)}};
    if (!part.thinking.empty()) message["thinking"] = std::move(part.thinking);
    if (!part.calls.empty()) message["tool_calls"] = std::move(part.calls);
    line["message"] = std::move(message);
  } else {
    line["response"] = std::move(part.text);
    if (!part.thinking.empty()) line["thinking"] = std::move(part.thinking);
  }
  line["done"] = false;
  if (!part.logprobs.empty()) line["logprobs"] = std::move(part.logprobs);
  return line;
}

void OllamaWriter::on_token(int64_t, const RequestEvent& event) {
  take(event);
  if (options_.stream && !part_.empty()) send_events(to_text(line()) + "\n");
}

void OllamaWriter::on_end(int64_t, int64_t, const RequestEvent& event) {
  take(event);
  end_ = ollama_end(*event.result, options_.asked, options_.begun, EngineClock::now());
}

void OllamaWriter::finish() {
  std::string lines;
  if (options_.stream && !part_.empty()) lines = to_text(line()) + "\n";
  OrderedJson last = line();
  last.update(end_);
  lines += to_text(last) + "\n";
  if (options_.stream) {
    send_events(std::move(lines));
    exchange().finish();
    return;
  }
  HttpResponse response;
  response.body = std::move(lines);
  exchange().send(std::move(response));
}

}  // namespace wick
