#include "interp/knockout.h"

#include "base/error.h"
#include "base/text.h"
#include "interp/sweep.h"

namespace wick {

namespace {

void check_attention(const InterpModel& model) {
  if (model.facts().heads > 0) return;
  throw Error(ErrorCode::kUnsupported, cat(model.facts().family, " models have no attention to cut"));
}

}  // namespace

HookSpec& knock_out(HookSpec& spec, const InterpModel& model, const Knockout& edges, size_t tokens) {
  check_attention(model);
  for (const int layer : edges.layers) check_layer(model, layer);
  for (const int head : edges.heads) check_head(model, head);
  const std::vector<int64_t> queries = check_positions(edges.queries, tokens),
                             keys = check_positions(edges.keys, tokens);
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (const int64_t key : keys) {
    for (const int64_t query : queries) {
      if (query > key || (query == key && !edges.queries.empty())) pairs.emplace_back(query, key);
    }
  }
  if (pairs.empty()) return spec;
  if (edges.layers.empty()) return spec.knockout(HookSite::kEveryLayer, pairs, edges.heads);
  for (const int layer : edges.layers) spec.knockout(layer, pairs, edges.heads);
  return spec;
}

SweepMap knockout_sweep(const InterpModel& model, std::span<const int32_t> tokens, const KnockoutSweep& cells,
                        const Metric& metric) {
  check_metric(model, metric);
  check_attention(model);
  if (cells.window < 1)
    throw Error(ErrorCode::kInvalidArgument, cat("a window of ", cells.window, " layers is asked for"));
  tokens = up_to_metric(tokens, metric);
  const std::vector<float> plain = last_logits(model, tokens);
  SweepMap map;
  map.point = HookPoint::kAttnScores;
  map.layers = cells.layers.empty() ? model.facts().attention_layers : cells.layers;
  for (const int layer : map.layers) check_layer(model, layer);
  map.positions = check_positions(cells.keys, tokens.size());
  map.clean = map.corrupted = measure(metric, plain, plain);
  const auto spec_of = [&](int64_t cell) {
    const auto rows = static_cast<int64_t>(map.rows());
    const int middle = map.layers[static_cast<size_t>(cell / rows)];
    Knockout edges{cells.queries, {map.positions[static_cast<size_t>(cell % rows)]}, {}, {}};
    const int first = middle - (cells.window - 1) / 2;
    for (const int layer : model.facts().attention_layers) {
      if (layer >= first && layer < first + cells.window) edges.layers.push_back(layer);
    }
    HookSpec spec;
    // Without a layer of attention in the window nothing is cut.
    return edges.layers.empty() ? spec : knock_out(spec, model, edges, tokens.size());
  };
  map.values = sweep(model, tokens, static_cast<int64_t>(map.layers.size() * map.rows()), spec_of, metric, plain,
                     cells.progress);
  return map;
}

}  // namespace wick
