#include "cli/microscope/attn_report.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"

namespace wick {
namespace {

using nlohmann::ordered_json;

std::string place(const Microscope& microscope, std::span<const int32_t> tokens, int64_t position) {
  return cat(position, " ", microscope.label(tokens[static_cast<size_t>(position)]));
}

ordered_json json_of(const AttentionEdge& edge) {
  return {
      {"layer", edge.layer}, {"head", edge.head}, {"query", edge.query}, {"key", edge.key}, {"weight", edge.weight}};
}

std::string weight_text(float weight) { return fmt::format("{:.3f}", weight); }

bool is_stronger(const AttentionEdge& a, const AttentionEdge& b) { return a.weight > b.weight; }

}  // namespace

std::vector<AttentionEdge> strongest_edges(std::span<const AttentionOfLayer> layers, std::span<const int> heads,
                                           std::span<const int64_t> queries, int64_t top, bool skip_first) {
  std::vector<AttentionEdge> best;  // a heap whose front is the weakest
  for (const AttentionOfLayer& layer : layers) {
    for (const int head : heads) {
      for (const int64_t query : queries) {
        for (int64_t key = skip_first ? 1 : 0; key <= query; ++key) {
          const AttentionEdge edge{layer.layer, head, query, key, layer.at(head, query, key)};
          const bool full = std::ssize(best) >= top;
          if (edge.weight <= 0 || (full && !is_stronger(edge, best.front()))) continue;
          if (full) {
            std::pop_heap(best.begin(), best.end(), is_stronger);
            best.pop_back();
          }
          best.push_back(edge);
          std::push_heap(best.begin(), best.end(), is_stronger);
        }
      }
    }
  }
  std::sort(best.begin(), best.end(), [](const AttentionEdge& a, const AttentionEdge& b) {
    return std::tie(b.weight, a.layer, a.head, a.query, a.key) < std::tie(a.weight, b.layer, b.head, b.query, b.key);
  });
  return best;
}

void add_overview(MicroscopeReport& report, const Microscope& microscope, std::span<const int32_t> tokens,
                  std::span<const AttentionOfLayer> layers, std::span<const int> heads, int64_t query,
                  bool skip_first) {
  HeatTable table;
  table.title = cat("Where each head looks from position ", place(microscope, tokens, query));
  table.note = "its strongest token, shaded by the share of attention that goes there";
  table.rows = layer_axis();
  for (const int head : heads) table.columns.labels.push_back(cat("head ", head));
  ordered_json rows = ordered_json::array();
  for (const AttentionOfLayer& layer : layers) {
    table.rows.numbers.push_back(cat(layer.layer));
    for (const int head : heads) {
      const int one[] = {head};
      const std::vector<AttentionEdge> best =
          strongest_edges(std::span(&layer, 1), one, std::span(&query, 1), 5, skip_first);
      HeatCell cell;
      for (const AttentionEdge& edge : best) {
        cell.detail +=
            cat(cell.detail.empty() ? "" : "\n", percent_text(edge.weight), "  ", place(microscope, tokens, edge.key));
      }
      if (!best.empty()) {
        cell.text = place(microscope, tokens, best.front().key);
        cell.shade = best.front().weight;
        rows.push_back(json_of(best.front()));
      }
      table.cells.push_back(std::move(cell));
    }
  }
  report.sections.emplace_back(std::move(table));
  report.json["overview"].push_back({{"query", query}, {"heads", std::move(rows)}});
}

void add_matrix(MicroscopeReport& report, const Microscope& microscope, std::span<const int32_t> tokens,
                const AttentionOfLayer& layer, std::span<const int> heads, std::span<const int64_t> positions) {
  HeatTable table;
  const std::string who = heads.size() == 1 ? cat("head ", heads.front()) : cat("the mean of ", heads.size(), " heads");
  table.title = cat("Attention of layer ", layer.layer, ", ", who);
  table.note = "rows look at columns";
  table.rows = table.columns = microscope.position_axis(tokens, positions);
  table.narrow = true;
  ordered_json rows = ordered_json::array();
  for (const int64_t query : positions) {
    ordered_json row = ordered_json::array();
    for (const int64_t key : positions) {
      double sum = 0;
      for (const int head : heads) sum += layer.at(head, query, key);
      const double weight = sum / static_cast<double>(heads.size());
      const std::string detail =
          key > query ? ""
                      : cat(place(microscope, tokens, query), " looks at ", place(microscope, tokens, key), ": ",
                            weight_text(static_cast<float>(weight)));
      table.cells.push_back({"", weight, detail});
      row.push_back(weight);
    }
    rows.push_back(std::move(row));
  }
  report.sections.emplace_back(std::move(table));
  report.json["patterns"].push_back({{"layer", layer.layer},
                                     {"heads", std::vector<int>(heads.begin(), heads.end())},
                                     {"positions", std::vector<int64_t>(positions.begin(), positions.end())},
                                     {"pattern", std::move(rows)}});
}

void add_edges(MicroscopeReport& report, const Microscope& microscope, std::span<const int32_t> tokens,
               std::span<const AttentionEdge> edges) {
  ListTable list;
  list.title = "Strongest edges";
  list.headings = {"head", "from", "to", "weight"};
  list.left = true;
  report.json["edges"] = ordered_json::array();
  for (const AttentionEdge& edge : edges) {
    list.rows.push_back({cat(edge.layer, ".", edge.head), place(microscope, tokens, edge.query),
                         place(microscope, tokens, edge.key), weight_text(edge.weight)});
    report.json["edges"].push_back(json_of(edge));
  }
  report.sections.emplace_back(std::move(list));
}

void add_scores(MicroscopeReport& report, const Microscope& microscope, const HeadScores& scores, int64_t top) {
  struct Kind {
    const char *name, *meaning;
    const Tensor* values;
  };
  const Kind kinds[] = {{"previous", "the share that goes to the token before", &scores.previous},
                        {"duplicate", "the share that goes to the same token, where it came before", &scores.duplicate},
                        {"induction", "the share that goes to what followed the same token before", &scores.induction}};
  ListTable list;
  list.title = "Heads with the highest scores";
  list.headings = {"kind", "head", "score"};
  list.left = true;
  const int64_t heads = microscope.interp().facts().heads;
  for (const Kind& kind : kinds) {
    const std::vector<float> values = kind.values->to_vector<float>();
    HeatTable table;
    table.title = cat("Score: ", kind.name);
    table.note = kind.meaning;
    table.rows = layer_axis();
    for (int64_t head = 0; head < heads; ++head) table.columns.labels.push_back(cat("head ", head));
    std::vector<AttentionEdge> best;
    ordered_json rows = ordered_json::array();
    for (int layer = 0; layer < microscope.layers(); ++layer) {
      table.rows.numbers.push_back(cat(layer));
      ordered_json row = ordered_json::array();
      for (int64_t head = 0; head < heads; ++head) {
        const float value = values[static_cast<size_t>(layer * heads + head)];
        table.cells.push_back({short_number(value), value, cat("head ", layer, ".", head, ": ", weight_text(value))});
        best.push_back({layer, static_cast<int>(head), 0, 0, value});
        row.push_back(value);
      }
      rows.push_back(std::move(row));
    }
    std::stable_sort(best.begin(), best.end(), is_stronger);
    for (size_t i = 0; i < best.size() && static_cast<int64_t>(i) < top; ++i) {
      list.rows.push_back({kind.name, cat(best[i].layer, ".", best[i].head), weight_text(best[i].weight)});
    }
    report.sections.emplace_back(std::move(table));
    report.json["scores"][kind.name] = std::move(rows);
  }
  report.sections.emplace_back(std::move(list));
}

}  // namespace wick
