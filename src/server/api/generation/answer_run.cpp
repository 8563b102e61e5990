#include "server/api/generation/answer_run.h"

#include <cmath>

#include "server/api/chat/chat_request.h"
#include "server/api/completions/completion_request.h"
#include "server/api/generation/caller_share.h"
#include "server/http/error_response.h"

namespace wick {
namespace {

// The field at fault, if it is one of the request's, is the first word: "top_p must be ...", "grammar: ...".
std::string_view param_of(std::string_view said) {
  if (said.find("the prompt") != std::string_view::npos) return "prompt";
  const std::string_view word = said.substr(0, said.find_first_of(" :"));
  return ChatRequest::fields().has(word) || CompletionRequest::fields().has(word) ? word : std::string_view();
}

// A grammar that leads nowhere is the client's; a model that computes nonsense is ours.
HttpResponse error_answer(const Error& error) {
  const std::string_view said = error.what(), param = param_of(said);
  switch (error.code()) {
    case ErrorCode::kInvalidArgument: return error_response(400, said, {}, param, "invalid_value");
    case ErrorCode::kUnsupported: return error_response(400, said, {}, param, "unsupported_value");
    case ErrorCode::kOutOfMemory: return error_response(503, said, {}, {}, "out_of_memory");
    default: return error_response(500, said, {}, {}, "model_failed");
  }
}

// The same for whatever submitting it throws.
HttpResponse error_answer(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& known) {
    return error_answer(known);
  } catch (...) {
    return error_response(error);
  }
}

HttpResponse full_queue(double retry_after) {
  HttpResponse response =
      error_response(429, "There are too many requests waiting; try again later.", {}, {}, "rate_limit_exceeded");
  response.headers.emplace_back("Retry-After", cat(std::max<int64_t>(1, std::llround(std::ceil(retry_after)))));
  return response;
}

}  // namespace

AnswerRun::AnswerRun(ModelHost::EngineRef engine, std::unique_ptr<AnswerWriter> writer, ApiMetrics::Latency latency,
                     EngineClock::time_point asked, Caller caller)
    : engine_(std::move(engine)),
      writer_(std::move(writer)),
      latency_(latency),
      asked_(asked),
      caller_(std::move(caller)) {}

void AnswerRun::start(std::vector<EngineRequest> prompts, HttpExchange& exchange) {
  choices_ = prompts.front().choices;
  open_ = choices_ * std::ssize(prompts);
  last_token_.resize(static_cast<size_t>(open_));
  for (size_t i = 0; i < prompts.size(); ++i) {
    std::optional<HttpResponse> refusal;
    try {
      const int64_t tokens = std::ssize(prompts[i].prompt);
      const auto id = engine_->submit(
          std::move(prompts[i]), [run = shared_from_this(), i](const RequestEvent& event) { run->hear(i, event); });
      if (!id) refusal = full_queue(engine_->retry_after());
      if (id) spend_tokens(caller_, tokens);
      const std::lock_guard lock(mutex_);
      if (id) ids_.push_back(*id);
    } catch (...) {
      refusal = error_answer(std::current_exception());
    }
    if (!refusal) continue;
    {
      const std::lock_guard lock(mutex_);
      if (!is_over_) fail(std::move(*refusal));
    }
    cancel();  // those before it
    return;
  }
  exchange.on_close([weak = weak_from_this()] {
    if (const auto run = weak.lock()) run->cancel();
  });
}

void AnswerRun::cancel() {
  std::vector<RequestId> ids;
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    ids.swap(ids_);
  }
  for (const RequestId id : ids) engine_->cancel(id);
}

void AnswerRun::fail(HttpResponse error) {
  is_over_ = true;
  writer_->fail(std::move(error));
}

void AnswerRun::measure(int64_t choice) {
  const auto now = EngineClock::now();
  auto& last = last_token_[static_cast<size_t>(choice)];
  const bool is_first = last == EngineClock::time_point();
  const double seconds = std::chrono::duration<double>(now - (is_first ? asked_ : last)).count();
  (is_first ? latency_.first_token : latency_.next_token)->observe(seconds);
  last = now;
}

// On the engine's thread, where nothing may escape.
void AnswerRun::hear(size_t prompt, const RequestEvent& event) {
  if (event.kind == RequestEvent::Kind::kToken) spend_tokens(caller_, 1);  // also of an answer that nobody waits for
  const std::lock_guard lock(mutex_);
  if (is_over_) return;
  const auto prompt_index = static_cast<int64_t>(prompt);
  const int64_t choice = prompt_index * choices_ + event.choice;
  try {
    switch (event.kind) {
      case RequestEvent::Kind::kPrompt:
        if (event.prompt) writer_->on_prompt(prompt_index, *event.prompt);
        break;
      case RequestEvent::Kind::kToken:
        measure(choice);
        writer_->on_token(choice, event);
        break;
      case RequestEvent::Kind::kEnd:
        if (event.result->reason == StopReason::kCancelled) {  // by nobody here: the engine goes
          fail(error_response(503, "The server is shutting down.", {}, {}, "shutting_down"));
          break;
        }
        writer_->on_end(prompt_index, choice, event);
        if (--open_ == 0) {
          is_over_ = true;
          writer_->finish();
        }
        break;
      case RequestEvent::Kind::kError: fail(error_answer(*event.error)); break;
    }
  } catch (...) {
    try {
      if (!is_over_) fail(error_response(std::current_exception()));
    } catch (...) {  // no memory even for that: the exchange says so when the engine lets go of this
      is_over_ = true;
    }
  }
}

}  // namespace wick
