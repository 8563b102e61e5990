#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/task.h"

namespace wick {

// Everything counts from the engine's start.
struct EngineCounters {
  int64_t submitted = 0, turned_away = 0, finished = 0, cancelled = 0, failed = 0;
  int64_t coalesced = 0;       // requests that took part in another's computing
  int64_t steps = 0;           // passes
  int64_t steps_ahead = 0;     // of those, started before the tokens of the one before had come
  int64_t prompt_tokens = 0;   // asked for
  int64_t reused_tokens = 0;   // of them, found in the prefix cache
  int64_t prefill_tokens = 0;  // computed: of prompts, and again after a preemption
  int64_t generated_tokens = 0;
  int64_t drafted_tokens = 0, accepted_tokens = 0;
  int64_t preemptions = 0, swapped_blocks = 0, recomputed_tokens = 0;
  int64_t blocks_taken = 0, blocks_freed = 0, blocks_copied = 0, window_freed = 0;
  int64_t prefix_hits = 0, prefix_misses = 0, prefix_splits = 0, prefix_evictions = 0;  // evictions: blocks
  double busy_seconds = 0;                                                              // inside passes
};

enum class SequencePhase : uint8_t { kWaiting, kPrefill, kDecode, kPreempted };
std::string_view to_string(SequencePhase phase);  // "waiting", ...

struct SequenceView {
  RequestId request = 0;
  int64_t index = 0;  // among the request's
  SequencePhase phase = SequencePhase::kWaiting;
  Priority priority = Priority::kNormal;
  int64_t prompt_tokens = 0, computed_tokens = 0, generated_tokens = 0;
  double age_seconds = 0;
  std::vector<int32_t> blocks;
};

// How an engine stands between two passes.
struct EngineSnapshot {
  EngineCounters counters;
  std::vector<SequenceView> sequences;  // running and preempted first, then waiting in the order they will come
  int64_t waiting = 0, running = 0, paused = 0;
  int64_t context = 0, block_tokens = 0;
  int64_t blocks_total = 0, blocks_free = 0, blocks_cached = 0;  // cached: held by the prefix cache alone
  std::vector<uint8_t> block_uses;                               // per block, up to 255 users; 0: free
  std::vector<bool> block_is_cached;                             // per block: the prefix cache holds it
  double pressure = 0;                                      // part of the blocks that running sequences hold, 0 to 1
  int64_t token_budget = 0;                                 // of the next pass
  int64_t last_prefill_tokens = 0, last_decode_tokens = 0;  // of the last pass
  double last_seconds = 0;
};

}  // namespace wick
