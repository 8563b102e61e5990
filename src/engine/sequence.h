#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/snapshot.h"
#include "engine/task.h"
#include "engine/text/drafter.h"
#include "engine/token_counters.h"
#include "models/forward_batch.h"
#include "nn/kv_cache.h"
#include "nn/recurrent_state.h"

namespace wick {

// A line of positions that an engine computes for a task: a prompt and what is generated behind it, one of several
// beams.
struct Sequence {
  std::shared_ptr<Task> task;
  int64_t index = 0;  // among the task's, for the task
  double rank = 0;    // among those of its client, the lower, the sooner: see Scheduler
  TokenCounters::Counter* client = nullptr;
  std::vector<int32_t> tokens;  // of all positions: a token each, or a number made of what stands there instead
  int64_t prompt_tokens = 0;
  std::vector<int32_t> draft;  // tokens that may follow, for the next pass
  Drafter* drafter = nullptr;  // null: nobody drafts for it
  // A sequence without positions, of which each pass computes all anew: what that costs, in tokens. 0: it has
  // positions.
  int64_t step_cost = 0;
  int64_t credit = 0;  // towards such a step, in tokens

  // In memory:
  int64_t computed = 0;         // tokens whose keys and values are there, or whose work the state has done
  int64_t reached = 0;          // the most that ever were
  int64_t ahead = 0;            // positions behind them that are being computed without being known
  std::vector<int32_t> blocks;  // of the cache
  RecurrentState state;
  Lookahead lookahead;    // where a part of the model drafts for it
  RecurrentState before;  // a draft is being run: the state to go back to where it is wrong
  struct Saved {
    SavedBlocks contents;
    std::vector<int32_t> table;  // the blocks as they were; which were given up counts
  };
  std::optional<Saved> saved;  // while preempted

  SequencePhase phase = SequencePhase::kWaiting;
  bool has_run = false;
  std::optional<EngineClock::time_point> first_yield, last_yield;

  int64_t uncomputed() const { return step_cost > 0 ? step_cost : static_cast<int64_t>(tokens.size()) - computed; }
  // False for one that waits for others of its task.
  bool has_work() const { return step_cost > 0 || reached < static_cast<int64_t>(tokens.size()); }
  bool is_running() const { return phase == SequencePhase::kPrefill || phase == SequencePhase::kDecode; }
};

}  // namespace wick
