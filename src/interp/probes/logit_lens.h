#pragma once

#include <span>
#include <string>
#include <vector>

#include "interp/interp_model.h"
#include "interp/probes/tuned_lens.h"
#include "interp/sweep_map.h"

namespace wick {

struct LensOptions {
  // Points of the residual stream, in this order; "blocks.*." stands for every layer. Empty: what enters each layer and
  // what leaves the last, whose row is the model's own answer.
  std::vector<std::string> points;
  std::vector<int64_t> positions;         // below zero: from the end; empty: all
  int64_t top = 5;                        // tokens per cell
  std::vector<int32_t> follow;            // tokens whose probability and rank every cell gives
  const TunedLens* tuned = nullptr;       // for "hook_resid_pre" points; null: rows are read as they are
  HookSpec hooks;                         // edits of the run
  int64_t most_bytes = int64_t{4} << 30;  // of rows of the residual stream; more are an Error(kOutOfMemory)
  SweepProgress progress;                 // by cells
};

struct LensToken {
  int32_t token = 0;
  float logit = 0;
  double probability = 0;
  int64_t rank = 0;  // 0: the best
};

// What one position would say if the model ended at one point.
struct LensCell {
  std::vector<LensToken> top;     // best first
  std::vector<LensToken> follow;  // as in LensOptions
  double entropy = 0;             // in nats
  double kl = 0;                  // from the model's answer at this position to this cell, in nats
};

struct LensMap {
  std::vector<std::string> points;
  std::vector<int64_t> positions;
  std::vector<LensCell> cells;  // [points, positions]

  const LensCell& at(size_t point, size_t position) const { return cells[point * positions.size() + position]; }
};

// The logit lens: reads every point through the last norm and the output projection. Holds the vocabulary for some rows
// at a time only. Throws Error(kInvalidArgument) for points that are not rows of the residual stream.
LensMap logit_lens(const InterpModel& model, std::span<const int32_t> tokens, const LensOptions& options = {});

}  // namespace wick
