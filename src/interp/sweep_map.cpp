#include "interp/sweep_map.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/text.h"
#include "interp/hook_part.h"

namespace wick {
namespace {

std::string every_layer(HookPoint point) { return hook_name(point, HookSite::kEveryLayer); }

}  // namespace

double SweepMap::restored(size_t layer, size_t position, size_t head) const {
  const double moved = at(layer, position, head) - corrupted;
  return moved == 0 || clean == corrupted ? 0 : moved / (clean - corrupted);
}

void check_sweep_point(HookPoint point) {
  if (is_per_layer(point) && point != HookPoint::kState) return;
  throw Error(ErrorCode::kInvalidArgument, cat("'", every_layer(point), "' is not made of rows in layers"));
}

SweepPlan::SweepPlan(const InterpModel& model, HookPoint point, const SweepCells& cells,
                     std::span<const int64_t> head_counts, size_t tokens)
    : positions_(check_positions(cells.positions, tokens)) {
  check_sweep_point(point);
  map_.point = point;
  map_.layers = cells.layers;
  for (int layer = 0; cells.layers.empty() && layer < model.facts().layers; ++layer) {
    if (head_counts[static_cast<size_t>(layer)] > 0) map_.layers.push_back(layer);
  }
  int64_t most_heads = 0;
  for (const int layer : map_.layers) {
    check_layer(model, layer);
    const int64_t heads = head_counts[static_cast<size_t>(layer)];
    if (heads == 0) throw Error(ErrorCode::kInvalidArgument, cat("the model has no '", hook_name(point, layer), "'"));
    most_heads = std::max(most_heads, heads);
  }
  if (cells.by_position) map_.positions = positions_;
  if (!cells.by_head) return;
  if (!has_heads(point)) throw Error(ErrorCode::kInvalidArgument, cat("'", every_layer(point), "' has no heads"));
  map_.heads = cells.heads;
  if (cells.heads.empty()) {
    map_.heads.resize(static_cast<size_t>(most_heads));
    std::iota(map_.heads.begin(), map_.heads.end(), 0);
  }
  for (const int head : map_.heads) {
    if (head >= 0 && head < most_heads) continue;
    throw Error(ErrorCode::kInvalidArgument, cat("'", every_layer(point), "' has heads 0 to ", most_heads - 1,
                                                 ", and head ", head, " is asked for"));
  }
}

int SweepPlan::layer(int64_t cell) const {
  return map_.layers[static_cast<size_t>(cell) / (map_.rows() * map_.columns())];
}

HookPart SweepPlan::part(int64_t cell) const {
  const size_t within = static_cast<size_t>(cell) % (map_.rows() * map_.columns());
  HookPart part;
  part.positions = positions_;
  if (!map_.positions.empty()) part.positions = {map_.positions[within / map_.columns()]};
  if (!map_.heads.empty()) part.heads = {map_.heads[within % map_.columns()]};
  return part;
}

}  // namespace wick
