#pragma once

#include "cli/microscope/microscope.h"
#include "interp/metric.h"
#include "interp/sweep_map.h"

namespace wick {

// How a sweep's numbers are shown.
enum class SweepShow : uint8_t {
  kRestored,  // 0 as the corrupted run, 1 as the clean one
  kBroken,    // 0 as the clean run, 1 as the corrupted one
  kChange,    // by how much the metric changed
};

// The heat map of a sweep: layers down, and across positions or heads; one map per position where there are both.
void add_sweep(MicroscopeReport& report, const Microscope& microscope, std::span<const int32_t> tokens,
               const std::string& title, const SweepMap& map, SweepShow show);

// "logit of ·Tom minus logit of ·Ann".
std::string metric_text(const Microscope& microscope, const Metric& metric);

}  // namespace wick
