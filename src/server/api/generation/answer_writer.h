#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "engine/request.h"
#include "server/api/field_kinds.h"
#include "server/http/exchange.h"

namespace wick {

// Called with the answer's tokens when it is over; what it returns is "wick" of the answer.
using InspectEnd = std::function<OrderedJson(const std::vector<int32_t>& answer)>;

// Turns what an engine tells into what a client reads. Called by one thread at a time; must not block. `choice` counts
// the choices of all prompts: those of the first, then those of the next.
class AnswerWriter {
 public:
  explicit AnswerWriter(std::shared_ptr<HttpExchange> exchange) : exchange_(std::move(exchange)) {}
  virtual ~AnswerWriter() = default;

  // The log-probabilities of the prompt's tokens but the first, where they were asked for.
  virtual void on_prompt(int64_t /*prompt*/, const std::vector<SampledToken>&) {}
  virtual void on_token(int64_t choice, const RequestEvent& event) = 0;
  virtual void on_end(int64_t prompt, int64_t choice, const RequestEvent& event) = 0;
  virtual void finish() = 0;  // all choices are over
  // Nothing more comes: as the answer, or as the stream's last event.
  void fail(HttpResponse error);

 protected:
  HttpExchange& exchange() { return *exchange_; }
  // Sends events, with the head of a stream before the first.
  void send_events(std::string events);
  // What a stream is, and how it says that it failed: `error` is the body of an error_response() on one line.
  virtual HttpResponse stream_head() const;
  virtual std::string error_event(const std::string& error) const;
  bool has_begun() const { return has_begun_; }

 private:
  std::shared_ptr<HttpExchange> exchange_;
  bool has_begun_ = false;
};

// The head of a stream of server-sent events.
HttpResponse event_stream_head();

}  // namespace wick
