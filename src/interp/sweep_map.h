#pragma once

#include <functional>
#include <span>
#include <vector>

#include "interp/interp_model.h"

namespace wick {

// Called between passes with what is done and what there is to do; may be empty.
using SweepProgress = std::function<void(int64_t done, int64_t total)>;

// Which cells of a run an intervention is tried on, one at a time.
struct SweepCells {
  std::vector<int> layers;                // empty: all that have the point
  std::vector<int64_t> positions;         // below zero: from the end; empty: all
  std::vector<int> heads;                 // with by_head; empty: all
  bool by_position = true;                // false: all positions together
  bool by_head = false;                   // each head alone; false: all together
  int64_t most_bytes = int64_t{4} << 30;  // of values of the clean run; more are an Error(kOutOfMemory)
  SweepProgress progress;
};

// A number for each cell, beside those of the runs without the intervention.
struct SweepMap {
  HookPoint point = HookPoint::kResidPre;
  std::vector<int> layers;
  std::vector<int64_t> positions;  // one cell each; empty: all together, one cell
  std::vector<int> heads;          // the same
  double clean = 0, corrupted = 0;
  std::vector<double> values;  // [layers, positions, heads]

  size_t rows() const { return positions.empty() ? 1 : positions.size(); }
  size_t columns() const { return heads.empty() ? 1 : heads.size(); }
  double at(size_t layer, size_t position = 0, size_t head = 0) const {
    return values[(layer * rows() + position) * columns() + head];
  }
  // 0 as corrupted, 1 as clean; 0 when both are the same.
  double restored(size_t layer, size_t position = 0, size_t head = 0) const;
};

// Walks over the cells of a sweep and fills the map.
class SweepPlan {
 public:
  // `head_counts`: of the point in each layer, 0 where the layer does not have it. Throws Error(kInvalidArgument) for
  // layers, positions and heads that are not there.
  SweepPlan(const InterpModel& model, HookPoint point, const SweepCells& cells, std::span<const int64_t> head_counts,
            size_t tokens);

  SweepMap& map() { return map_; }
  int64_t size() const { return static_cast<int64_t>(map_.layers.size() * map_.rows() * map_.columns()); }
  int layer(int64_t cell) const;
  HookPart part(int64_t cell) const;  // with its positions named

 private:
  SweepMap map_;
  std::vector<int64_t> positions_;
};

// Throws Error(kInvalidArgument) for points that have no rows in layers, which sweeps cannot touch.
void check_sweep_point(HookPoint point);

}  // namespace wick
