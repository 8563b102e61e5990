#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "server/api/api_metrics.h"
#include "server/api/chat/chat_job.h"
#include "server/api/chat/choice_reader.h"
#include "server/api/realtime/realtime_output.h"

namespace wick {

// One answer of a realtime session on its way through an engine, told to the client as it grows. It lives while
// somebody may still call it. Thread-safe.
class RealtimeAnswer : public std::enable_shared_from_this<RealtimeAnswer> {
 public:
  // `previous_item`: the one before it in the conversation, or null.
  RealtimeAnswer(std::shared_ptr<RealtimeOutput> output, ApiMetrics::Latency latency, OrderedJson previous_item);

  // Answers once the model is there. Whatever goes wrong is told to the client.
  void start(ModelHost& host, const std::string& model, ChatRequest request,
             const std::shared_ptr<GrammarCache>& grammars, Caller caller);
  // Nothing more of it is sent but its end, which comes after the engine's next step. `reason`: "turn_detected" or
  // "client_cancelled".
  void cancel(std::string_view reason);

  bool is_over() const;
  std::string text() const;  // so far
  const std::string& id() const { return id_; }
  const std::string& item() const { return item_; }
  OrderedJson item_json() const;  // as it is now

 private:
  void submit(ModelHost::EngineRef engine, const ChatRequest& request, GrammarCache& grammars);
  void hear(const RequestEvent& event);
  // All of these with the lock held.
  void measure();
  void add_text(const std::string& text);
  void finish(std::string_view status, OrderedJson details);
  void fail(std::string_view code, std::string_view message);
  OrderedJson item_with(std::string_view status) const;
  OrderedJson response_json(std::string_view status) const;
  OrderedJson place() const;  // what the events of the text have in common

  const std::shared_ptr<RealtimeOutput> output_;
  const std::string id_, item_;
  const OrderedJson previous_item_;
  ApiMetrics::Latency latency_;
  std::string adapter_;
  Caller caller_;
  const EngineClock::time_point asked_ = EngineClock::now();

  mutable std::mutex mutex_;  // of what follows
  ModelHost::EngineRef engine_;
  std::optional<RequestId> request_;
  std::optional<ChoiceReader> reader_;
  std::optional<EngineClock::time_point> last_token_;
  UsageCount usage_;
  std::string text_, cancel_reason_;
  std::string status_ = "in_progress";
  bool has_item_ = false, is_over_ = false;
};

}  // namespace wick
