#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "engine/engine_options.h"
#include "engine/kv_memory.h"
#include "engine/logits.h"
#include "engine/request.h"
#include "engine/request_book.h"
#include "engine/scheduler.h"
#include "engine/snapshot.h"
#include "engine/text_model.h"
#include "models/forward_batch.h"
#include "tensor/arena.h"

namespace wick {

// Many requests on one model, each with the answer it would get alone, bit for bit.
class Engine {
 public:
  // Throws Error(kOutOfMemory) with the numbers when the memory does not hold one sequence of the context.
  explicit Engine(std::shared_ptr<const TextModel> model, const EngineOptions& options = {});
  ~Engine();  // whoever still waits hears kCancelled

  const TextModel& model() const { return *model_; }
  int64_t context() const { return memory_.context(); }
  int64_t kv_bytes() const;  // of the cache, when all of it is in use
  DType kv_dtype() const { return options_.kv_dtype; }

  // Thread-safe. Empty when the queue is full. Throws Error(kInvalidArgument) for what can never be answered: an empty
  // prompt, one longer than the context (with both numbers), tokens outside the vocabulary, parameters out of range.
  std::optional<RequestId> submit(EngineRequest request, RequestListener listener);
  // Thread-safe. Everything the request holds is free after the next step; its listener hears kEnd with kCancelled.
  void cancel(RequestId id);
  // Thread-safe, but not for listeners.
  EngineSnapshot snapshot() const;
  // Seconds after which a request that was turned away may find room. Thread-safe, but not for listeners.
  double retry_after() const;

  // One pass over a batch; false when there was nothing to do. One thread at a time.
  bool step();
  // Sleeps until there is something to do; false when stop() was called.
  bool wait();
  void stop();           // thread-safe; whoever comes then is turned away
  void end_all();        // what runs or waits hears kCancelled; while no thread is in step()
  bool is_idle() const;  // thread-safe: nothing runs or waits

 private:
  struct Submission {
    RequestId id;
    EngineRequest wanted;
    RequestListener listener;
    EngineClock::time_point arrived;
    Answer answer;
  };
  // Which rows of a pass's logits belong to a planned sequence.
  struct LogitRows {
    int64_t first = 0;
    int64_t scored = 0;  // rows that tell how likely the prompt's next tokens were
    int64_t chosen = 0;  // rows to choose tokens from, behind them
  };

  // A pass that was started: its logits come.
  struct Pass {
    StepPlan plan;
    std::vector<LogitRows> rows;  // per planned sequence
    Logits logits;

    void leave(const Sequence& sequence);
  };

  void take_in();
  void start(Submission submission);
  void end_cancelled(const std::vector<RequestId>& ids);
  void end_late();
  bool may_tell_late() const;
  void tell_news();
  std::optional<Pass> take_ahead();
  StepPlan next_plan();
  void draft(const StepPlan& plan);
  Pass forward(const StepPlan& plan);
  void plan_draws(const StepPlan& plan, const std::vector<LogitRows>& rows);
  void run_ahead(const Pass& pass);
  void stay_back();
  void take_tokens(const Pass& pass, double seconds);
  int64_t choose(Sequence& sequence, const LogitRows& rows, const Logits& logits);
  void choose_one(Sequence& sequence, const TokenLogits& logits);
  void score_prompt(const Planned& planned, const LogitRows& rows, const Logits& logits);
  void tell_progress(const Planned& planned);
  void fork_choices(Sequence& sequence, const TokenLogits& logits);
  void note_token(Sequence& sequence);
  void end(Sequence& sequence);
  void remove(Sequence& sequence, bool is_sound = true);
  void fail(const std::shared_ptr<OpenRequest>& request, const Error& error);
  void fail_all(const std::vector<std::shared_ptr<OpenRequest>>& requests, const Error& error);
  std::vector<Sequence*> sequences_of(const OpenRequest& request) const;

  std::shared_ptr<const TextModel> model_;
  EngineOptions options_;
  const EngineClock::time_point began_ = EngineClock::now();

  mutable std::mutex inbox_mutex_;  // for what other threads bring; may be taken while state_mutex_ is held
  std::condition_variable news_;
  std::vector<Submission> submissions_;
  std::vector<RequestId> cancels_;
  RequestId last_id_ = 0;
  int64_t waiting_ = 0;  // requests, as of the last step
  int64_t turned_away_ = 0;
  bool is_busy_ = false, is_stopping_ = false;

  mutable std::mutex state_mutex_;  // held between passes and while listeners are told
  KvMemory memory_;
  Scheduler scheduler_;
  RequestBook book_;
  std::unique_ptr<Drafter> drafter_;
  EngineCounters counters_;
  double service_seconds_ = 0;  // of a request, averaged
  int64_t last_prefill_tokens_ = 0, last_decode_tokens_ = 0;
  double last_seconds_ = 0;

  Arena arena_;
  ForwardBatch batch_;
  TokenDraws draws_;           // of all rows of logits
  std::optional<Pass> ahead_;  // the pass behind the last one, where it could be started before that one's tokens came
};

// Runs an engine on a thread of its own, as long as it lives.
class EngineThread {
 public:
  explicit EngineThread(Engine& engine);
  ~EngineThread();  // lets the present pass end

 private:
  Engine& engine_;
  std::thread thread_;
};

}  // namespace wick
