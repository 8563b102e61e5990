// What each part of a model adds to a logit.
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "cli/microscope/lens_report.h"

namespace wick {
namespace {

using nlohmann::ordered_json;
using Part = Contribution::Part;

double largest(const std::vector<Contribution>& parts) {
  double most = 0;
  for (const Contribution& part : parts) most = std::max(most, std::abs(part.value));
  return most;
}

HeatCell cell_of(const Contribution& part, double most) {
  return {short_number(part.value), most > 0 ? part.value / most : 0, cat(to_string(part), ": ", part.value)};
}

// Layers down, heads (and the MLP) across; parts outside layers are in the list.
HeatTable table_of(const std::vector<Contribution>& parts, const Microscope& microscope, bool by_head) {
  const int64_t heads = by_head ? microscope.interp().facts().heads : 0;
  HeatTable table;
  table.rows = layer_axis();
  for (int layer = 0; layer < microscope.layers(); ++layer) table.rows.numbers.push_back(cat(layer));
  for (int64_t head = 0; head < heads; ++head) table.columns.labels.push_back(cat("head ", head));
  table.columns.labels.insert(table.columns.labels.end(), {"attn", "mlp"});
  const size_t columns = table.columns.size();
  table.cells.resize(columns * table.rows.size());
  const double most = largest(parts);
  bool any_attention = false;
  for (const Contribution& part : parts) {
    if (part.layer < 0) continue;
    const size_t column = part.part == Part::kHead  ? static_cast<size_t>(part.index)
                          : part.part == Part::kMlp ? columns - 1
                                                    : columns - 2;
    any_attention = any_attention || column == columns - 2;
    if (column < columns) table.cells[static_cast<size_t>(part.layer) * columns + column] = cell_of(part, most);
  }
  if (any_attention) return table;
  // All attention is apart by head.
  HeatTable without = table;
  without.columns.labels.erase(without.columns.labels.end() - 2);
  without.cells.clear();
  for (size_t row = 0; row < table.rows.size(); ++row) {
    for (size_t column = 0; column < columns; ++column) {
      if (column != columns - 2) without.cells.push_back(table.at(row, column));
    }
  }
  return without;
}

ListTable list_of(std::vector<Contribution> parts, double logit, int64_t top) {
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Contribution& a, const Contribution& b) { return std::abs(a.value) > std::abs(b.value); });
  ListTable list;
  list.headings = {"part", "adds", "share"};
  for (size_t i = 0; i < parts.size() && static_cast<int64_t>(i) < top; ++i) {
    const double share = logit != 0 ? parts[i].value / logit * 100 : 0;
    list.rows.push_back({to_string(parts[i]), short_number(parts[i].value), cat(std::lround(share), "%")});
  }
  return list;
}

}  // namespace

void add_attribution(MicroscopeReport& report, const Microscope& microscope, std::span<const int32_t> tokens,
                     const AttributionTarget& target, AttributeBy by, int64_t top) {
  const LanguageInterp& model = microscope.interp();
  const int64_t position = check_position(target.position, tokens.size());
  const std::string what = target.other < 0 ? cat("the logit of ", microscope.label(target.token))
                                            : cat("the logit of ", microscope.label(target.token), " above that of ",
                                                  microscope.label(target.other));
  AttributionOptions options;
  options.by_head = by == AttributeBy::kHead;
  const Attribution attribution = attribute_logit(model, tokens, target, options);
  const bool neurons = by == AttributeBy::kNeuron;
  const std::vector<Contribution> parts = neurons ? attribute_neurons(model, tokens, target, top) : attribution.parts;
  const std::string title = cat(neurons ? "Neurons that add most to " : "What adds to ", what, " behind position ",
                                position, ": ", short_number(attribution.logit), " in all");
  if (!neurons) {
    HeatTable table = table_of(parts, microscope, options.by_head);
    table.title = title;
    table.note = "direct effect of each part on the logit; the largest below, with those outside layers";
    report.sections.emplace_back(std::move(table));
  }
  ListTable list = list_of(parts, attribution.logit, top);
  list.title = neurons ? title : "The largest parts";
  report.sections.emplace_back(std::move(list));

  ordered_json rows = ordered_json::array();
  for (const Contribution& part : parts) {
    ordered_json row = {{"part", to_string(part)}, {"value", part.value}};
    if (part.layer >= 0) row["layer"] = part.layer;
    if (part.index >= 0) row["index"] = part.index;
    rows.push_back(std::move(row));
  }
  report.json["attribution"] = {{"position", position},
                                {"token", microscope.token_json(target.token)},
                                {"logit", attribution.logit},
                                {"parts", std::move(rows)}};
  if (target.other >= 0) report.json["attribution"]["other"] = microscope.token_json(target.other);
}

}  // namespace wick
