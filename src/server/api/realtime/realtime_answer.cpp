#include "server/api/realtime/realtime_answer.h"

#include "server/api/generation/caller_share.h"
#include "server/api/generation/request_defaults.h"
#include "server/api/request_error.h"

namespace wick {

RealtimeAnswer::RealtimeAnswer(std::shared_ptr<RealtimeOutput> output, ApiMetrics::Latency latency,
                               OrderedJson previous_item)
    : output_(std::move(output)),
      id_(make_id("resp_")),
      item_(make_id("item_")),
      previous_item_(std::move(previous_item)),
      latency_(latency) {}

void RealtimeAnswer::start(ModelHost& host, const std::string& model, ChatRequest request,
                           const std::shared_ptr<GrammarCache>& grammars, Caller caller) {
  {
    const std::lock_guard lock(mutex_);
    caller_ = std::move(caller);
    adapter_ = host.adapter_of(model);
    output_->send("response.created", {{"response", response_json("in_progress")}});
  }
  if (const auto defaults = host.defaults_of(model)) defaults->fill(request);
  const KeepWish keep{caller_.name, {}};
  const auto begin = [self = shared_from_this(), request = std::move(request), grammars](ModelHost::EngineRef engine,
                                                                                         const Error* error) {
    const std::lock_guard lock(self->mutex_);
    if (self->is_over_) return;
    if (error) return self->fail("model_failed", error->what());
    try {
      self->submit(std::move(engine), request, *grammars);
    } catch (const RequestError& refusal) {
      self->fail(refusal.word(), refusal.what());
    } catch (const std::exception& refusal) {
      self->fail("invalid_value", refusal.what());
    }
  };
  host.use(model, begin, keep);
}

// The engine tells of it on a thread of its own, which waits for the lock until this is done.
void RealtimeAnswer::submit(ModelHost::EngineRef engine, const ChatRequest& request, GrammarCache& grammars) {
  if (out_of_tokens(caller_)) return fail("rate_limit_exceeded", "This API key has used its tokens; try again later.");
  ChatJob job = make_chat_job(request, *engine, grammars);
  compute_for(caller_, job.request);
  use_adapter(adapter_, engine->model(), job.request);
  reader_.emplace(job.format, nullptr, true);
  const int64_t tokens = std::ssize(job.request.prompt);
  request_ = engine->submit(std::move(job.request),
                            [self = shared_from_this()](const RequestEvent& event) { self->hear(event); });
  if (!request_) return fail("rate_limit_exceeded", "There are too many requests waiting; try again later.");
  spend_tokens(caller_, tokens);
  engine_ = std::move(engine);
}

void RealtimeAnswer::cancel(std::string_view reason) {
  const std::lock_guard lock(mutex_);
  if (is_over_ || !cancel_reason_.empty()) return;
  cancel_reason_ = reason;
  if (request_) return engine_->cancel(*request_);
  finish("cancelled", {{"type", "cancelled"}, {"reason", reason}});
}

bool RealtimeAnswer::is_over() const {
  const std::lock_guard lock(mutex_);
  return is_over_;
}

std::string RealtimeAnswer::text() const {
  const std::lock_guard lock(mutex_);
  return text_;
}

// On the engine's thread, where nothing may escape.
void RealtimeAnswer::hear(const RequestEvent& event) {
  if (event.kind == RequestEvent::Kind::kToken) spend_tokens(caller_, 1);
  const std::lock_guard lock(mutex_);
  if (is_over_) return;
  const bool is_cancelled = !cancel_reason_.empty();
  try {
    switch (event.kind) {
      case RequestEvent::Kind::kPrompt: break;
      case RequestEvent::Kind::kToken:
        if (is_cancelled) break;
        measure();
        add_text(reader_->read(event).content);
        break;
      case RequestEvent::Kind::kEnd:
        if (!is_cancelled) add_text(reader_->read(event).content);
        usage_.add(0, *event.result, reader_->reasoning_tokens());
        if (is_cancelled) {
          finish("cancelled", {{"type", "cancelled"}, {"reason", cancel_reason_}});
        } else if (event.result->reason == StopReason::kCancelled) {  // by nobody here: the engine goes
          fail("shutting_down", "The server is shutting down.");
        } else if (finish_reason(*event.result, false) == "stop") {
          finish("completed", nullptr);
        } else {
          finish("incomplete", {{"type", "incomplete"}, {"reason", "max_output_tokens"}});
        }
        break;
      case RequestEvent::Kind::kError: fail("server_error", event.error->what()); break;
    }
  } catch (const std::exception& error) {
    if (!is_over_) fail("server_error", error.what());
  }
}

OrderedJson RealtimeAnswer::item_json() const {
  const std::lock_guard lock(mutex_);
  return item_with(status_);
}

void RealtimeAnswer::measure() {
  const auto now = EngineClock::now();
  const double seconds = std::chrono::duration<double>(now - last_token_.value_or(asked_)).count();
  (last_token_ ? latency_.next_token : latency_.first_token)->observe(seconds);
  last_token_ = now;
}

OrderedJson RealtimeAnswer::place() const {
  return {{"response_id", id_}, {"item_id", item_}, {"output_index", 0}, {"content_index", 0}};
}

void RealtimeAnswer::add_text(const std::string& text) {
  if (text.empty()) return;
  if (!has_item_) {
    has_item_ = true;
    output_->send("conversation.item.added",
                  {{"previous_item_id", previous_item_}, {"item", item_with("in_progress")}});
    output_->send("response.output_item.added",
                  {{"response_id", id_}, {"output_index", 0}, {"item", item_with("in_progress")}});
    OrderedJson part = place();
    part["part"] = {{"type", "output_text"}, {"text", ""}};
    output_->send("response.content_part.added", part);
  }
  text_ += text;
  OrderedJson delta = place();
  delta["delta"] = text;
  output_->send("response.output_text.delta", delta);
}

void RealtimeAnswer::finish(std::string_view status, OrderedJson details) {
  is_over_ = true;
  engine_.reset();
  const std::string_view item_status = status == "completed" ? "completed" : "incomplete";
  status_ = item_status;
  if (has_item_) {
    OrderedJson done = place();
    done["text"] = text_;
    output_->send("response.output_text.done", done);
    OrderedJson part = place();
    part["part"] = {{"type", "output_text"}, {"text", text_}};
    output_->send("response.content_part.done", part);
    output_->send("response.output_item.done",
                  {{"response_id", id_}, {"output_index", 0}, {"item", item_with(item_status)}});
    output_->send("conversation.item.done", {{"previous_item_id", previous_item_}, {"item", item_with(item_status)}});
  }
  OrderedJson response = response_json(status);
  response["status_details"] = std::move(details);
  response["output"] = OrderedJson::array();
  if (has_item_) response["output"].push_back(item_with(item_status));
  const Usage& usage = usage_.usage();
  response["usage"] = {{"input_tokens", usage.prompt_tokens},
                       {"output_tokens", usage.completion_tokens},
                       {"total_tokens", usage.total_tokens}};
  output_->send("response.done", {{"response", std::move(response)}});
}

void RealtimeAnswer::fail(std::string_view code, std::string_view message) {
  finish("failed", {{"type", "failed"}, {"error", {{"code", code}, {"message", message}}}});
}

OrderedJson RealtimeAnswer::item_with(std::string_view status) const {
  OrderedJson content = OrderedJson::array();
  if (status != "in_progress") content.push_back({{"type", "output_text"}, {"text", text_}});
  return {{"id", item_},      {"object", "realtime.item"}, {"type", "message"},
          {"status", status}, {"role", "assistant"},       {"content", std::move(content)}};
}

OrderedJson RealtimeAnswer::response_json(std::string_view status) const {
  return {{"id", id_},
          {"object", "realtime.response"},
          {"status", status},
          {"status_details", nullptr},
          {"output", OrderedJson::array()},
          {"output_modalities", {"text"}}};
}

}  // namespace wick
