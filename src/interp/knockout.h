#pragma once

#include <span>
#include <vector>

#include "interp/metric.h"
#include "interp/sweep_map.h"

namespace wick {

// Which attention edges are cut: those from any of `queries` to any of `keys` that is not behind it.
struct Knockout {
  std::vector<int64_t> queries;  // below zero: from the end; empty: all behind the key, which still sees itself
  std::vector<int64_t> keys;     // empty: all
  std::vector<int> layers;       // empty: all
  std::vector<int> heads;        // empty: all
};

// Adds the edges to a spec for a text of that many tokens. Throws Error(kInvalidArgument) for what is not there.
HookSpec& knock_out(HookSpec& spec, const InterpModel& model, const Knockout& edges, size_t tokens);

struct KnockoutSweep {
  std::vector<int64_t> queries;  // as in Knockout
  std::vector<int> layers;       // in the middle of a window each; empty: all with attention
  std::vector<int64_t> keys;     // one cell each; empty: all
  int window = 1;                // layers around each that are cut together
  SweepProgress progress;
};

// Hides one token at a time from the queries, in one window of layers at a time: where does the answer read it? `clean`
// and `corrupted` of the result are both the run without cuts.
SweepMap knockout_sweep(const InterpModel& model, std::span<const int32_t> tokens, const KnockoutSweep& cells,
                        const Metric& metric);

}  // namespace wick
