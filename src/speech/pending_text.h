#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/text/text_engine.h"

namespace wick {

// A request to an engine and what has come of it, for a thread that waits. Going away cancels it.
class PendingText {
 public:
  // Waits while the engine's queue is full. Throws as TextEngine::submit() does.
  PendingText(TextEngine& engine, EngineRequest request);
  ~PendingText();
  PendingText(const PendingText&) = delete;
  PendingText& operator=(const PendingText&) = delete;

  // Waits for more text than `seen` bytes, or the end; all text so far.
  std::string wait_for_more(size_t seen) const;
  bool is_over() const;
  // Waits for the end. Throws the error if there was one.
  GenerateResult result() const;
  double logprob_sum() const;  // of the tokens so far
  void cancel();

 private:
  struct State {
    mutable std::mutex mutex;
    mutable std::condition_variable news;
    std::string text;
    double logprob_sum = 0;
    std::optional<GenerateResult> result;
    std::optional<Error> error;
    bool is_over() const { return result || error; }
  };
  TextEngine& engine_;
  std::shared_ptr<State> state_ = std::make_shared<State>();
  RequestId id_ = 0;
};

}  // namespace wick
