#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

#include "server/api/api_metrics.h"
#include "server/api/generation/answer_writer.h"
#include "server/http/clients/caller.h"
#include "server/model_host.h"

namespace wick {

// One request of a client on its way through an engine. It lives while somebody may still call it: the engine, or the
// connection.
class AnswerRun : public std::enable_shared_from_this<AnswerRun> {
 public:
  AnswerRun(ModelHost::EngineRef engine, std::unique_ptr<AnswerWriter> writer, ApiMetrics::Latency latency,
            EngineClock::time_point asked, Caller caller);

  // Hands the prompts to the engine; `exchange` is the writer's. A client that goes cancels them. When the engine
  // refuses one, or has no room, that is the answer.
  void start(std::vector<EngineRequest> prompts, HttpExchange& exchange);

 private:
  void hear(size_t prompt, const RequestEvent& event);
  void measure(int64_t choice);
  void cancel();
  void fail(HttpResponse error);  // with the lock held

  ModelHost::EngineRef engine_;
  std::unique_ptr<AnswerWriter> writer_;
  ApiMetrics::Latency latency_;
  EngineClock::time_point asked_;
  Caller caller_;

  std::mutex mutex_;  // of what follows, and of the writer
  std::vector<RequestId> ids_;
  std::vector<EngineClock::time_point> last_token_;  // per choice
  int64_t choices_ = 1;                              // per prompt
  int64_t open_ = 0;                                 // choices that have not ended
  bool is_over_ = false;
};

}  // namespace wick
