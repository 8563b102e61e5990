#pragma once

#include <span>
#include <vector>

#include "interp/metric.h"
#include "interp/sweep_map.h"

namespace wick {

// What stands in for a part of a model that is switched off.
enum class Ablation : uint8_t {
  kZero,
  kMean,      // the mean over all positions of the reference texts
  kResample,  // what a reference text has at the same position, or its last for positions behind its end
};
std::string_view to_string(Ablation ablation);

// Values to put in for one point in every layer, collected from reference texts.
class AblationValues {
 public:
  // `texts` may be empty for kZero. kResample uses text `sample` modulo their number.
  AblationValues(const InterpModel& model, HookPoint point, Ablation ablation,
                 std::span<const std::vector<int32_t>> texts = {}, size_t sample = 0);

  // Adds the ablation of one layer's point for a text of that many tokens; empty lists of the part mean all.
  HookSpec& ablate(HookSpec& spec, int layer, HookPart part, size_t tokens) const;
  HookPoint point() const { return point_; }
  // How many heads the point has in each layer: 1 for points without, 0 where the layer does not have it.
  const std::vector<int64_t>& heads() const { return heads_; }

 private:
  HookPoint point_;
  Ablation ablation_;
  std::vector<int64_t> heads_;
  std::vector<Tensor> values_;  // per layer: the mean [1, ...], or a sample [positions, ...]
};

// Switches off one cell at a time. `clean` and `corrupted` of the result are both the run as it is.
SweepMap ablation_sweep(const InterpModel& model, std::span<const int32_t> tokens, const AblationValues& values,
                        const SweepCells& cells, const Metric& metric);

}  // namespace wick
