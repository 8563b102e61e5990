// Patching sweeps, told layer by layer.
#include <algorithm>
#include <numeric>

#include "interp/patching.h"
#include "interp/sweep.h"
#include "server/api/json_copy.h"
#include "server/api/microscope/inside_answers.h"
#include "server/api/microscope/inside_work.h"
#include "server/api/microscope/inspect_hooks.h"

namespace wick {
namespace {

using Tokens = std::vector<int32_t>;

int32_t likeliest(std::span<const float> logits) {
  return static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

Metric::Kind kind_of(const std::string& name) {
  if (name == "logit") return Metric::Kind::kLogit;
  if (name == "probability") return Metric::Kind::kProbability;
  if (name == "log_probability") return Metric::Kind::kLogProbability;
  return name == "kl" ? Metric::Kind::kKl : Metric::Kind::kLogitDifference;
}

struct NamedMetric {
  std::string kind;
  Metric metric;
};

// What the request leaves open are the likeliest answers to both texts.
NamedMetric metric_of(const MetricRequest& wanted, const InterpModel& model, const Tokens& clean,
                      const Tokens& corrupted) {
  NamedMetric named{wanted.kind, {}};
  Metric& metric = named.metric;
  metric.position = check_position(wanted.position, clean.size());
  metric.token = wanted.token ? *wanted.token : likeliest(last_logits(model, up_to_metric(clean, metric)));
  metric.other = wanted.other ? *wanted.other : likeliest(last_logits(model, up_to_metric(corrupted, metric)));
  // Both texts lead to the same answer: how far the distributions are apart still tells.
  if (named.kind == "logit_difference" && metric.token == metric.other) named.kind = "kl";
  metric.kind = kind_of(named.kind);
  check_metric(model, metric);
  return named;
}

std::vector<int> layers_of(const PatchRequest& wanted, const InterpModel& model) {
  for (const int layer : wanted.layers) check_layer(model, layer);
  if (!wanted.layers.empty()) return wanted.layers;
  if (wanted.point.starts_with("attn.")) return model.facts().attention_layers;
  std::vector<int> layers(static_cast<size_t>(model.facts().layers));
  std::iota(layers.begin(), layers.end(), 0);
  return layers;
}

SweepCells cells_of(const PatchRequest& wanted, const InterpModel& model, const Metric& metric, size_t layers) {
  SweepCells cells;
  cells.by_head = wanted.by == "head";
  cells.by_position = !cells.by_head;
  const int64_t tokens = metric.position + 1;
  cells.positions = positions_from_start(wanted.positions, {tokens, tokens}, "positions");
  const int64_t columns = cells.by_head             ? model.facts().heads
                          : cells.positions.empty() ? tokens
                                                    : std::ssize(cells.positions);
  const int64_t count = static_cast<int64_t>(layers) * columns;
  if (count > InspectLimits::kCells) {
    throw RequestError("layers", cat("the sweep has ", count, " cells, allowed are ", InspectLimits::kCells));
  }
  return cells;
}

std::string numbers(const auto& values) {
  std::string list;
  append_numbers(list, std::vector<double>(values.begin(), values.end()));
  return list;
}

}  // namespace

void InsideWork::patch(const PatchRequest& wanted) {
  const Tokens clean = tokens_of(wanted.clean, "clean."), corrupted = tokens_of(wanted.corrupted, "corrupted.");
  check_same_length(clean, corrupted);
  const HookPoint point = HookSite::parse(cat("blocks.0.", wanted.point)).point;
  const NamedMetric named = metric_of(wanted.metric.value_or(MetricRequest()), model_, clean, corrupted);
  const Metric& metric = named.metric;
  const std::vector<int> layers = layers_of(wanted, model_);
  if (layers.empty()) throw RequestError("point", cat("the model has no ", wanted.point, " in any layer"));
  SweepCells cells = cells_of(wanted, model_, metric, layers.size());

  const auto begin = [&](const SweepMap& map) {
    return cat(R"({"type":"begin","point":")", wanted.point, R"(","by":")", wanted.by, R"(","layers":)",
               numbers(layers), R"(,"positions":)", numbers(map.positions), R"(,"heads":)", numbers(map.heads),
               R"(,"metric":{"kind":")", named.kind, R"(","position":)", metric.position, R"(,"token":)",
               token_json(metric.token, tokenizer_), R"(,"other":)", token_json(metric.other, tokenizer_),
               R"(},"clean":{)", text_json(clean, tokenizer_), R"(,"value":)", to_text(map.clean), R"(},"corrupted":{)",
               text_json(corrupted, tokenizer_), R"(,"value":)", to_text(map.corrupted), "}}");
  };
  // Layer by layer, so that each can be shown when it is there.
  for (const int layer : layers) {
    cells.layers = {layer};
    const SweepMap map = patch_sweep(model_, clean, corrupted, point, cells, metric);
    if (!has_begun_) send_event(begin(map));
    send_event(cat(R"({"type":"layer","layer":)", layer, R"(,"values":)", numbers(map.values), "}"));
  }
  send_event(R"({"type":"done"})");
  finish_events();
}

}  // namespace wick
