#pragma once

#include <span>
#include <vector>

#include "interp/metric.h"
#include "interp/sweep_map.h"

namespace wick {

// A part of a layer at some positions.
struct PathNode {
  HookPoint point = HookPoint::kAttnZ;
  int layer = 0;
  HookPart part;  // positions below zero count from the end; empty lists mean all
};

struct PathOptions {
  bool through_mlps = false;  // true: MLPs between the two answer to the change; false: they stay as they were
  SweepProgress progress;
};

// Path patching (Wang et al. 2022): how much of a sender's effect on the answer goes through the receivers, directly.
// The clean run is repeated with the sender's values of the corrupted run while every other part that writes to the
// residual stream keeps its clean values; what the receivers then see is put into another clean run, whose metric is
// the result, one per sender. Senders are attn_out, mlp_out or z (some heads); receivers are any points with rows, and
// must lie behind the senders to see anything. Texts must be equally long.
std::vector<double> path_patch(const InterpModel& model, std::span<const int32_t> clean,
                               std::span<const int32_t> corrupted, std::span<const PathNode> senders,
                               std::span<const PathNode> receivers, const Metric& metric,
                               const PathOptions& options = {});

// The same for every head of the layers that have attention, at all positions: [layers, heads].
SweepMap path_patch_heads(const InterpModel& model, std::span<const int32_t> clean, std::span<const int32_t> corrupted,
                          std::span<const PathNode> receivers, const Metric& metric, const PathOptions& options = {});

}  // namespace wick
