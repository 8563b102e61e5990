#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "engine/sequence.h"

namespace wick {

// A sequence's part in a pass: this many of its positions that are not computed yet, then all of its draft.
struct Planned {
  Sequence* sequence = nullptr;
  int64_t tokens = 0;

  bool reaches_end() const { return tokens == sequence->uncomputed(); }
};
using StepPlan = std::vector<Planned>;

// A pass that was started: what it computes comes.
class Pass {
 public:
  explicit Pass(StepPlan plan) : plan_(std::move(plan)) {}
  virtual ~Pass() = default;

  const StepPlan& plan() const { return plan_; }
  virtual void fetch() {}  // waits until take() has what it needs
  // Gives what was computed for planned sequence i to its task; returns how many of its drafted tokens were right.
  virtual int64_t take(size_t i, TaskHost& host) = 0;
  // Whether a pass that was started behind this one, before it was fetched, began as it should have.
  virtual bool is_followed() const { return true; }
  // Somebody is gone: nothing is taken for them.
  virtual void leave(const Sequence& sequence) {
    std::erase_if(plan_, [&](const Planned& planned) { return planned.sequence == &sequence; });
  }

 protected:
  StepPlan plan_;
};

// Builds passes over one model for all its tasks at once.
class Runner {
 public:
  virtual ~Runner() = default;
  // Sets the device to work.
  virtual std::unique_ptr<Pass> start(const StepPlan& plan) = 0;
  // Whether the positions behind a pass can be computed before it is fetched, by start_behind(), for all its sequences.
  virtual bool can_start_behind(const Pass&) { return false; }
  virtual std::unique_ptr<Pass> start_behind(const Pass&) { return nullptr; }
};

}  // namespace wick
