#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/fair_mutex.h"
#include "base/function_ref.h"
#include "engine/engine_options.h"
#include "engine/kv/kv_memory.h"
#include "engine/scheduler.h"
#include "engine/snapshot.h"
#include "engine/task_table.h"
#include "engine/text/language_runner.h"
#include "tensor/arena.h"

namespace wick {

// Computes many tasks on one model, each with the result it would have alone, bit for bit. Knows what their passes cost
// and where their keys and values are; what they feed to the model and what they make of its outputs is theirs.
class Engine : private TaskHost {
 public:
  // `context`: positions of one sequence; with options.context 0 it is lowered to what the memory holds. Throws
  // Error(kOutOfMemory) with the numbers when the memory does not hold one sequence of the context.
  Engine(const LanguageModel& model, const EngineOptions& options, int64_t context);
  ~Engine() override;  // whoever still waits gets kCancelled

  int64_t context() const { return memory_.context(); }
  int64_t kv_bytes() const;  // of the cache, when all of it is in use
  DType kv_dtype() const { return options_.kv_dtype; }
  const KvCache& cache() const { return memory_.cache(); }  // for runners

  // Thread-safe. Empty when the queue is full, and the client has its part of it.
  std::optional<RequestId> submit(std::shared_ptr<Task> task);
  // Thread-safe. Everything the request holds is free after the next step; its task is ended with kCancelled.
  void cancel(RequestId id);
  // Thread-safe, but not for listeners.
  EngineSnapshot snapshot() const;
  // Seconds after which a request that was turned away may find room. Thread-safe, but not for listeners.
  double retry_after() const;

  // One pass over a batch; false when there was nothing to do. One thread at a time.
  bool step();
  // Steps until it is done. Thread-safe: those who wait step in turn, and ask whether they are done between steps.
  void run_until(FunctionRef<bool()> is_done);
  // Sleeps until there is something to do; false when stop() was called.
  bool wait();
  void stop();           // thread-safe; whoever comes then is turned away
  void end_all();        // what runs or waits gets kCancelled; while no thread is in step()
  bool is_idle() const;  // thread-safe: nothing runs or waits

 protected:
  const EngineOptions& options() const { return options_; }
  virtual void settle_in() const {}  // the engine has run some passes, and is taken to be used for long

 private:
  // One pass of each runner.
  struct Step {
    StepPlan plan;
    std::vector<std::unique_ptr<Pass>> passes;  // empty: not started
  };
  using Tasks = std::vector<std::shared_ptr<Task>>;
  static Tasks tasks_of(const StepPlan& plan);

  Sequence& add(std::unique_ptr<Sequence> sequence) override;
  Sequence& fork(const Sequence& from, std::unique_ptr<Sequence> sequence) override;
  void drop(Sequence& sequence) override { remove(sequence, true); }
  void yielded(Sequence& sequence) override;

  Step plan();
  void forward(Step& step);
  void take(const Step& step, const Tasks& tasks, double seconds);
  void settle(const Tasks& tasks);
  void emit();

  void take_in();
  void end_late();
  void draft(const StepPlan& plan);
  std::optional<Step> take_ahead();
  void run_ahead(const Step& step);
  void stay_back();
  bool may_emit_late() const;
  void end(const std::shared_ptr<Task>& task, StopReason reason);
  void fail(const std::shared_ptr<Task>& task, const Error& error);
  void fail_all(const Tasks& tasks, const Error& error);
  void start_over();
  void close(const std::shared_ptr<Task>& task, bool is_sound = true);
  void remove(Sequence& sequence, bool is_sound);
  bool has_place_for(const std::string& client) const;
  void note_busy();

  const LanguageModel& model_;
  EngineOptions options_;
  const EngineClock::time_point began_ = EngineClock::now();

  mutable std::mutex inbox_mutex_;  // for what other threads bring; may be taken while state_mutex_ is held
  std::condition_variable news_;
  std::vector<std::shared_ptr<Task>> submissions_;
  std::vector<RequestId> cancels_;
  RequestId last_id_ = 0;
  int64_t waiting_ = 0;                        // requests that have not begun, as of the last step
  std::map<std::string, int64_t> waiting_of_;  // by client, and what was submitted since
  int64_t turned_away_ = 0;
  bool is_busy_ = false, is_stopping_ = false;

  mutable std::mutex state_mutex_;  // held between passes and while listeners are notified
  KvMemory memory_;
  Scheduler scheduler_;
  TaskTable tasks_;
  EngineCounters counters_;
  double service_seconds_ = 0;  // of a task, averaged
  int64_t last_prefill_tokens_ = 0, last_decode_tokens_ = 0;
  double last_seconds_ = 0;

  LanguageRunner runner_;
  std::shared_ptr<Task> current_;  // whose sequences are added
  Arena arena_;
  FairMutex steps_mutex_;      // of those who wait
  bool is_in_doubt_ = false;   // a step was left halfway for want of memory
  std::optional<Step> ahead_;  // the pass behind the last one, where it could be started before that one's outputs came
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
