#include "cli/microscope/patch_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace wick {
namespace {

using nlohmann::ordered_json;

double shown_value(const SweepMap& map, SweepShow show, size_t layer, size_t position, size_t head) {
  switch (show) {
    case SweepShow::kRestored: return map.restored(layer, position, head);
    case SweepShow::kBroken: return map.clean == map.corrupted ? 0 : 1 - map.restored(layer, position, head);
    case SweepShow::kChange: return map.at(layer, position, head) - map.clean;
  }
  return 0;
}

double largest(const SweepMap& map, SweepShow show) {
  if (show != SweepShow::kChange) return 1;
  double most = 0;
  for (const double value : map.values) most = std::max(most, std::abs(value - map.clean));
  return most;
}

std::string note_of(const SweepMap& map, SweepShow show) {
  const std::string clean = short_number(map.clean), corrupted = short_number(map.corrupted);
  switch (show) {
    case SweepShow::kRestored: return cat("1: as clean (", clean, "), 0: as corrupted (", corrupted, ")");
    case SweepShow::kBroken: return cat("0: as clean (", clean, "), 1: as corrupted (", corrupted, ")");
    case SweepShow::kChange: return cat("by how much the metric changes from ", clean);
  }
  return "";
}

}  // namespace

void add_sweep(MicroscopeReport& report, const Microscope& microscope, std::span<const int32_t> tokens,
               const std::string& title, const SweepMap& map, SweepShow show) {
  const double most = largest(map, show);
  const bool by_head = !map.heads.empty();
  const size_t pictures = by_head ? map.rows() : 1;
  for (size_t picture = 0; picture < pictures; ++picture) {
    HeatTable table;
    table.title = title;
    if (by_head && !map.positions.empty()) table.title += cat(" at position ", map.positions[picture]);
    table.note = note_of(map, show);
    table.rows = layer_axis();
    table.rows.numbers = numbers_text(map.layers);
    if (by_head) {
      for (const int head : map.heads) table.columns.labels.push_back(cat("head ", head));
    } else if (!map.positions.empty()) {
      table.columns = microscope.position_axis(tokens, map.positions);
    } else {
      table.columns.labels = {"all positions"};
    }
    for (size_t layer = 0; layer < map.layers.size(); ++layer) {
      for (size_t column = 0; column < table.columns.size(); ++column) {
        const size_t position = by_head ? picture : column, head = by_head ? column : 0;
        const double value = shown_value(map, show, layer, position, head);
        table.cells.push_back(
            {short_number(value), most > 0 ? std::clamp(value / most, -1.0, 1.0) : 0,
             cat("layer ", map.layers[layer], ", ",
                 by_head                 ? table.columns.labels[column]
                 : map.positions.empty() ? "all positions"
                                         : cat("position ", map.positions[column], " ", table.columns.labels[column]),
                 "\nmetric ", fmt::format("{:.5g}", map.at(layer, position, head)))});
      }
    }
    report.sections.emplace_back(std::move(table));
  }
  ordered_json shown = ordered_json::array();
  for (size_t layer = 0; layer < map.layers.size(); ++layer) {
    for (size_t row = 0; row < map.rows(); ++row) {
      for (size_t head = 0; head < map.columns(); ++head) shown.push_back(shown_value(map, show, layer, row, head));
    }
  }
  report.json["sweeps"].push_back({{"title", title},
                                   {"point", short_name(map.point)},
                                   {"layers", map.layers},
                                   {"positions", map.positions},
                                   {"heads", map.heads},
                                   {"clean", map.clean},
                                   {"corrupted", map.corrupted},
                                   {"values", map.values},
                                   {"shown", std::move(shown)}});
}

std::string metric_text(const Microscope& microscope, const Metric& metric) {
  const std::string token = microscope.label(metric.token);
  switch (metric.kind) {
    case Metric::Kind::kLogit: return cat("logit of ", token);
    case Metric::Kind::kLogitDifference:
      return cat("logit of ", token, " minus logit of ", microscope.label(metric.other));
    case Metric::Kind::kProbability: return cat("probability of ", token);
    case Metric::Kind::kLogProbability: return cat("log-probability of ", token);
    case Metric::Kind::kKl: return "KL divergence from the clean answer";
  }
  return "";
}

}  // namespace wick
