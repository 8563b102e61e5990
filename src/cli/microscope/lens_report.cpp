#include "cli/microscope/lens_report.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "interp/text_measures.h"

namespace wick {
namespace {

using nlohmann::ordered_json;

// "blocks.3.hook_resid_pre" as "3"; what leaves the last layer as "out".
std::string row_name(const std::string& point, int layers) {
  const HookSite site = HookSite::parse(point);
  if (site.point == HookPoint::kResidPost && site.layer == layers - 1) return "out";
  if (site.point == HookPoint::kResidPre) return cat(site.layer);
  return cat(site.layer, " ", short_name(site.point));
}

ordered_json json_of(const LensToken& token, const Microscope& microscope) {
  ordered_json out = microscope.token_json(token.token);
  out["probability"] = token.probability;
  out["logit"] = token.logit;
  out["rank"] = token.rank;
  return out;
}

std::string detail_of(const LensCell& cell, const Microscope& microscope) {
  std::string out;
  for (const auto* tokens : {&cell.top, &cell.follow}) {
    for (const LensToken& token : *tokens) {
      out += cat("#", token.rank + 1, "  ", percent_text(token.probability), "  ", microscope.label(token.token), "\n");
    }
  }
  return cat(out, "entropy ", short_number(cell.entropy), ", KL to the answer ", short_number(cell.kl), " nats");
}

HeatCell follow_cell(const LensCell& cell, size_t which, const Microscope& microscope) {
  const LensToken& token = cell.follow[which];
  return {cat(percent_text(token.probability), " #", token.rank + 1), token.probability, detail_of(cell, microscope)};
}

HeatCell cell_of(const LensCell& cell, LensShow show, double most, const Microscope& microscope) {
  HeatCell out;
  out.detail = detail_of(cell, microscope);
  const LensToken* best = cell.top.empty() ? nullptr : &cell.top.front();
  if (show == LensShow::kEntropy || show == LensShow::kKl) {
    const double value = show == LensShow::kKl ? cell.kl : cell.entropy;
    out.shade = most > 0 ? value / most : 0;
    out.text = short_number(value);
  } else if (best) {
    out.shade = best->probability;
    out.text = show == LensShow::kProbability ? cat(percent_text(best->probability), " ", microscope.label(best->token))
                                              : microscope.label(best->token);
  }
  return out;
}

std::string note_of(LensShow show) {
  switch (show) {
    case LensShow::kToken: return "the likeliest next token if the model ended there, shaded by probability";
    case LensShow::kProbability: return "the likeliest next token if the model ended there, and its probability";
    case LensShow::kEntropy: return "entropy of the next token if the model ended there, in nats";
    case LensShow::kKl: return "how far it is from the model's answer (KL divergence), in nats";
  }
  return "";
}

}  // namespace

void add_lens_grid(MicroscopeReport& report, const Microscope& microscope, std::span<const int32_t> tokens,
                   const LensMap& map, LensShow show) {
  double most = 0;
  for (const LensCell& cell : map.cells) most = std::max(most, show == LensShow::kKl ? cell.kl : cell.entropy);
  HeatTable table;
  table.title = "Logit lens: layers by positions";
  table.note = note_of(show);
  table.columns = microscope.position_axis(tokens, map.positions);
  table.rows = layer_axis();
  ordered_json rows = ordered_json::array();
  for (size_t point = 0; point < map.points.size(); ++point) {
    table.rows.numbers.push_back(row_name(map.points[point], microscope.layers()));
    ordered_json cells = ordered_json::array();
    for (size_t column = 0; column < map.positions.size(); ++column) {
      const LensCell& cell = map.at(point, column);
      table.cells.push_back(cell_of(cell, show, most, microscope));
      ordered_json each = {{"entropy", cell.entropy}, {"kl", cell.kl}, {"top", ordered_json::array()}};
      for (const LensToken& token : cell.top) each["top"].push_back(json_of(token, microscope));
      for (const LensToken& token : cell.follow) each["follow"].push_back(json_of(token, microscope));
      cells.push_back(std::move(each));
    }
    rows.push_back({{"point", map.points[point]}, {"cells", std::move(cells)}});
  }
  // Followed tokens take the place of what each cell would say.
  const size_t followed = map.cells.empty() ? 0 : map.cells.front().follow.size();
  for (size_t which = 0; which < followed; ++which) {
    HeatTable follow = table;
    follow.note = cat("probability and rank of ", microscope.label(map.cells.front().follow[which].token),
                      " if the model ended there");
    for (size_t i = 0; i < map.cells.size(); ++i) follow.cells[i] = follow_cell(map.cells[i], which, microscope);
    report.sections.emplace_back(std::move(follow));
  }
  if (followed == 0) report.sections.emplace_back(std::move(table));
  report.json["lens"] = {{"positions", map.positions}, {"points", std::move(rows)}};
}

void add_lens_ladder(MicroscopeReport& report, const Microscope& microscope, std::span<const int32_t> tokens,
                     const LensMap& map, size_t column) {
  HeatTable table;
  const int64_t position = map.positions[column];
  table.title =
      cat("Best tokens behind position ", position, " (", microscope.label(tokens[static_cast<size_t>(position)]), ")");
  table.rows = layer_axis();
  table.widest = 16;
  const size_t best = map.at(0, column).top.size();
  for (size_t rank = 0; rank < best; ++rank) table.columns.numbers.push_back(cat("#", rank + 1));
  for (size_t point = 0; point < map.points.size(); ++point) {
    table.rows.numbers.push_back(row_name(map.points[point], microscope.layers()));
    const LensCell& cell = map.at(point, column);
    for (const LensToken& token : cell.top) {
      table.cells.push_back({cat(percent_text(token.probability), " ", microscope.label(token.token)),
                             token.probability, detail_of(cell, microscope)});
    }
  }
  report.sections.emplace_back(std::move(table));
}

void add_norms(MicroscopeReport& report, const Microscope& microscope, std::span<const int32_t> tokens,
               std::span<const int64_t> positions) {
  const Tensor norms = residual_norms(microscope.interp(), tokens);  // [layers + 1, tokens]
  HeatTable table;
  table.title = "Length of the residual stream's vectors";
  table.note = "what enters each layer, and what leaves the last; shaded by its logarithm";
  table.columns = microscope.position_axis(tokens, positions);
  table.rows = layer_axis();
  const std::vector<float> values = norms.to_vector<float>();
  const auto at = [&](int64_t row, int64_t position) {
    return static_cast<double>(values[static_cast<size_t>(row * norms.dim(1) + position)]);
  };
  double least = 1e300, most = 1e-300;
  for (const float value : values) {
    least = std::min(least, std::max<double>(value, 1e-6));
    most = std::max<double>(most, value);
  }
  ordered_json rows = ordered_json::array();
  for (int64_t row = 0; row < norms.dim(0); ++row) {
    table.rows.numbers.push_back(row == norms.dim(0) - 1 ? "out" : cat(row));
    ordered_json cells = ordered_json::array();
    for (const int64_t position : positions) {
      const double value = at(row, position);
      const double shade = most > least ? std::log(std::max(value, 1e-6) / least) / std::log(most / least) : 0;
      table.cells.push_back({short_number(value), shade, ""});
      cells.push_back(value);
    }
    rows.push_back(std::move(cells));
  }
  report.sections.emplace_back(std::move(table));
  report.json["norms"] = std::move(rows);
}

void add_losses(MicroscopeReport& report, const Microscope& microscope, std::span<const int32_t> tokens,
                std::span<const int64_t> positions) {
  constexpr double kMuch = 8;  // nats: full shade
  const std::vector<double> losses = token_losses(microscope.interp(), tokens);
  HeatTable table;
  table.title = "Loss of each token given those before it";
  table.note = "in nats: 0 was certain, 0.69 one of two, 6.9 one of a thousand";
  table.columns = microscope.position_axis(tokens, positions);
  table.rows.labels = {"loss"};
  double sum = 0;
  for (const double loss : losses) sum += loss;
  for (const int64_t position : positions) {
    if (position == 0) {
      table.cells.push_back({"", 0, "nothing comes before it"});
      continue;
    }
    const double loss = losses[static_cast<size_t>(position) - 1];
    table.cells.push_back({short_number(loss), std::min(1.0, loss / kMuch), cat("probability ", std::exp(-loss))});
  }
  report.sections.emplace_back(std::move(table));
  report.json["losses"] = losses;
  if (!losses.empty()) report.json["mean_loss"] = sum / static_cast<double>(losses.size());
}

}  // namespace wick
