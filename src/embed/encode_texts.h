#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "models/encoders/text_encoder.h"

namespace wick {

// A text, or two behind each other, as an encoder reads it.
struct EncoderInput {
  std::vector<int32_t> tokens;
  std::vector<int32_t> types;  // which of the two each is of; empty: all of the first
  bool is_cut = false;         // there were more
};

// The passes of one encoder, in turns with engines. What several threads ask for at once is computed together, a few
// texts of each in every pass, so that a short request does not wait for a long one. Thread-safe.
class EncoderPasses {
 public:
  explicit EncoderPasses(const TextEncoder& encoder) : encoder_(encoder) {}

  // `each` gets the number of a text and its rows [tokens, hidden] on the host, perhaps on another thread; `done` hears
  // on this one, after passes, how many texts are finished, and may throw to leave. A text's rows depend on it alone,
  // bit for bit.
  void encode(std::span<const EncoderInput> texts, FunctionRef<void(size_t text, std::span<const float> rows)> each,
              const std::function<void(int64_t)>& done = {}) const;
  int64_t count() const;  // of passes so far

 private:
  struct Job;
  struct Part {  // a text of a pass
    Job* job = nullptr;
    size_t text = 0;
  };
  void take_parts(std::vector<Part>& parts) const;  // with the lock held
  void compute(std::span<const Part> parts) const;
  void lead(std::unique_lock<std::mutex>& lock) const;

  const TextEncoder& encoder_;
  mutable std::mutex mutex_;
  mutable std::condition_variable news_;
  mutable std::list<Job*> jobs_;
  mutable bool is_computing_ = false;
  mutable int64_t count_ = 0;
};

// Throws Error(kBadFile) naming the model when a value on the host is not finite: its weights are damaged.
void check_finite(const Tensor& values, const std::string& model);

}  // namespace wick
