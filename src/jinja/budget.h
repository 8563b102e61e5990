#pragma once

#include <cstdint>
#include <memory>

#include "base/error.h"
#include "base/text.h"

namespace wick::jinja {

// What a render may use. Generous for real conversations, far too little for harm.
struct Limits {
  int64_t work = 12'000'000;            // evaluated nodes and visited items, plus what texts cost (see below)
  int64_t memory = int64_t{128} << 20;  // bytes of values and pending output alive at one time
  int64_t output = int64_t{64} << 20;   // bytes of the result
  int depth = 1200;                     // evaluations inside one another: macros, recursive loops, nested expressions
};

// Counts what one render uses; throws Error(kInvalidArgument) at the limit.
class Budget {
 public:
  explicit Budget(const Limits& limits) : limits_(limits) {}

  const Limits& limits() const { return limits_; }
  void work(int64_t units);
  void require(int64_t bytes) const;  // throws when taking them would go past the limit
  void take(int64_t bytes);
  void give_back(int64_t bytes) noexcept { memory_ -= bytes; }

 private:
  Limits limits_;
  int64_t work_ = 0;
  int64_t memory_ = 0;
};

// Makes a budget the one of this thread while a render runs.
class BudgetScope {
 public:
  explicit BudgetScope(std::shared_ptr<Budget> budget);
  ~BudgetScope();
  BudgetScope(const BudgetScope&) = delete;
  BudgetScope& operator=(const BudgetScope&) = delete;

 private:
  std::shared_ptr<Budget> previous_;
};

// The memory of one value: taken from the thread's budget, given back when the value goes. Values made outside a
// render (the input, constants of the template) cost nothing.
class Charge {
 public:
  explicit Charge(int64_t bytes);
  ~Charge();
  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;

 private:
  std::shared_ptr<Budget> budget_;
  int64_t bytes_ = 0;
};

// Nothing outside a render. A unit of work takes some 30 ns: bytes that are copied, compared or searched cost one unit
// per 64, those that are looked at one by one as characters one per 8.
void spend_work(int64_t units = 1);
void spend_work_on_bytes(size_t bytes);
void spend_work_on_characters(size_t bytes);
// Before a text or list of a computed size is built.
void require_memory(int64_t bytes);

template <HasText... Args>
Error problem(const Args&... parts) {
  return {ErrorCode::kInvalidArgument, cat(parts...)};
}

}  // namespace wick::jinja
