#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "engine/request.h"
#include "engine/snapshot.h"
#include "engine/text_model.h"

namespace wick {

enum class SchedulePolicy : uint8_t { kFirstCome, kPriority };

struct EngineOptions {
  int64_t context = 0;           // tokens of one sequence; 0: the model's context, at most kDefaultContext
  int64_t kv_bytes = 0;          // for keys and values; 0: from the memory that is free
  DType kv_dtype = DType::kF16;  // f32, f16, bf16 or i8
  int64_t swap_bytes = -1;       // for keys and values of paused sequences; -1: a quarter of kv_bytes
  int64_t max_running = 64;      // sequences
  int64_t max_waiting = 256;     // requests; one more is turned away
  int64_t max_batch_tokens = 512;
  SchedulePolicy policy = SchedulePolicy::kPriority;
  double first_token_seconds = 0.25, next_token_seconds = 0.04;  // what passes are cut for
  bool prefix_cache = true;
  // Guesses tokens ahead for one sequence; the answers are the same. Empty: nobody does.
  std::function<std::unique_ptr<Drafter>()> drafter;
  int64_t draft_tokens = 8;  // at most, at a time
};

// Many requests on one model, each with the answer it would get alone, bit for bit.
class Engine {
 public:
  // Throws Error(kOutOfMemory) with the numbers when the free memory does not hold one sequence of the context.
  explicit Engine(std::shared_ptr<const TextModel> model, const EngineOptions& options = {});
  ~Engine();  // whoever still waits hears kCancelled

  const TextModel& model() const;
  int64_t context() const;

  // Thread-safe. Empty when the queue is full. Throws Error(kInvalidArgument) for what can never be answered: an empty
  // prompt, one longer than the context (with both numbers), tokens outside the vocabulary, parameters out of range.
  std::optional<RequestId> submit(EngineRequest request, RequestListener listener);
  // Thread-safe. Everything the request holds is free after the next step; its listener hears kEnd with kCancelled.
  void cancel(RequestId id);
  // Thread-safe.
  EngineSnapshot snapshot() const;
  // Seconds after which a request turned away may find room.
  double retry_after() const;

  // One pass over a batch; false when there was nothing to do. One thread at a time.
  bool step();
  // Sleeps until there is something to do, or until stop() is called; false then.
  bool wait();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wick
