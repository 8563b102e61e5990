#pragma once

#include "engine/snapshot.h"

namespace wick {

// Every field of EngineCounters with its name: visit(counters, [](std::string_view name, auto value) { ... }).
template <typename Visit>
void visit_counters(const EngineCounters& c, const Visit& visit) {
  visit("submitted", c.submitted);
  visit("turned_away", c.turned_away);
  visit("finished", c.finished);
  visit("cancelled", c.cancelled);
  visit("failed", c.failed);
  visit("coalesced", c.coalesced);
  visit("steps", c.steps);
  visit("steps_ahead", c.steps_ahead);
  visit("prompt_tokens", c.prompt_tokens);
  visit("reused_tokens", c.reused_tokens);
  visit("prefill_tokens", c.prefill_tokens);
  visit("generated_tokens", c.generated_tokens);
  visit("drafted_tokens", c.drafted_tokens);
  visit("accepted_tokens", c.accepted_tokens);
  visit("preemptions", c.preemptions);
  visit("swapped_blocks", c.swapped_blocks);
  visit("recomputed_tokens", c.recomputed_tokens);
  visit("blocks_taken", c.blocks_taken);
  visit("blocks_freed", c.blocks_freed);
  visit("blocks_copied", c.blocks_copied);
  visit("window_freed", c.window_freed);
  visit("prefix_hits", c.prefix_hits);
  visit("prefix_misses", c.prefix_misses);
  visit("prefix_splits", c.prefix_splits);
  visit("prefix_evictions", c.prefix_evictions);
  visit("busy_seconds", c.busy_seconds);
}
static_assert(sizeof(EngineCounters) == 26 * 8, "a counter is missing above");

}  // namespace wick
