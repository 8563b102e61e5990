#include "cli/onnx/onnx_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/utf8.h"

namespace wick {
namespace {

using graph::Graph;

std::string op_name(const graph::Node& node) { return node.domain.empty() ? node.op : cat(node.domain, ".", node.op); }

void count_nodes(const Graph& graph, std::map<std::string, int>& counts) {
  for (const graph::Node& node : graph.nodes) {
    ++counts[op_name(node)];
    for (const graph::Attribute& attribute : node.attributes) {
      if (attribute.graph) count_nodes(*attribute.graph, counts);
    }
  }
}

void list_nodes(const Graph& graph, const std::string& indent, std::string& out) {
  const auto names = [&](const std::vector<graph::ValueId>& ids) {
    std::string text;
    for (const graph::ValueId id : ids)
      text += cat(text.empty() ? "" : ", ", id == graph::kAbsent ? "-" : graph.values[id].name);
    return text;
  };
  for (const graph::Node& node : graph.nodes) {
    out += cat(indent, names(node.outputs), " = ", op_name(node), "(", names(node.inputs), ")\n");
    for (const graph::Attribute& attribute : node.attributes) {
      if (!attribute.graph) continue;
      out += cat(indent, "  ", attribute.name, ":\n");
      list_nodes(*attribute.graph, indent + "    ", out);
    }
  }
}

std::string ports(const char* title, const Graph& graph, const std::vector<graph::ValueId>& ids) {
  std::string out;
  for (const graph::ValueId id : ids) {
    out += fmt::format("{:<10} {}  {}\n", out.empty() ? title : "", graph.values[id].name,
                       to_string(graph.values[id].type));
  }
  return out;
}

}  // namespace

std::string describe_model(const OnnxModel& model, const graph::Imported& imported,
                           const std::vector<std::string>& problems, bool nodes) {
  std::string out = fmt::format("{:<10} ONNX, IR version {}, from {} {}\n", "format", model.ir_version,
                                model.producer.empty() ? "an unnamed program" : in_quotes(model.producer),
                                std::string(model.producer_version));
  std::string opsets;
  for (const auto& entry : imported.opsets) {
    opsets += cat(opsets.empty() ? "" : ", ", entry.first.empty() ? "ai.onnx" : entry.first, " ", entry.second);
  }
  out += fmt::format("{:<10} {}\n", "opsets", opsets);
  out +=
      ports("inputs", imported.graph, imported.graph.inputs) + ports("outputs", imported.graph, imported.graph.outputs);
  out +=
      fmt::format("{:<10} {:.1f} MB, {:.1f} MB of them copied because they are not aligned\n", "constants",
                  static_cast<double>(imported.weight_bytes) / 1e6, static_cast<double>(imported.copied_bytes) / 1e6);
  std::map<std::string, int> counts;
  count_nodes(imported.graph, counts);
  int total = 0;
  std::vector<std::pair<int, std::string>> order;
  for (const auto& entry : counts) {
    total += entry.second;
    order.emplace_back(-entry.second, entry.first);
  }
  std::sort(order.begin(), order.end());
  std::string operators;
  for (const auto& entry : order) operators += cat(operators.empty() ? "" : ", ", -entry.first, " ", entry.second);
  out += fmt::format("{:<10} {}: {}\n", "nodes", total, operators);
  for (const auto& entry : model.metadata) out += cat("metadata   ", entry.first, ": ", in_quotes(entry.second), "\n");
  if (nodes) list_nodes(imported.graph, "  ", out);
  out += problems.empty() ? "running    Wick has all operators\n" : "running    Wick cannot run it:\n";
  for (const std::string& problem : problems) out += cat("  ", problem, "\n");
  return out;
}

std::string profile_table(const std::map<const graph::Node*, graph::NodeTime>& times, int runs, bool by_node) {
  struct Row {
    std::string name;
    int64_t calls = 0;
    double seconds = 0;
  };
  std::map<std::string, Row> rows;
  double total = 0;
  for (const auto& entry : times) {
    const std::string name = by_node ? cat(op_name(*entry.first), "  ", entry.first->name) : op_name(*entry.first);
    Row& row = rows[name];
    row.name = name;
    row.calls += entry.second.calls;
    row.seconds += entry.second.seconds;
    total += entry.second.seconds;
  }
  std::vector<Row> order;
  for (const auto& entry : rows) order.push_back(entry.second);
  std::sort(order.begin(), order.end(), [](const Row& a, const Row& b) { return a.seconds > b.seconds; });
  std::string out = fmt::format("{:>10} {:>7} {:>7}  {}\n", "ms", "share", "calls", by_node ? "node" : "operator");
  for (const Row& row : order) {
    out += fmt::format("{:>10.3f} {:>6.1f}% {:>7}  {}\n", row.seconds * 1e3 / runs,
                       total > 0 ? 100 * row.seconds / total : 0.0, row.calls / runs, row.name);
  }
  return out + fmt::format("{:>10.3f} {:>6.1f}% {:>7}  all\n", total * 1e3 / runs, 100.0, "");
}

std::string profile_trace(const std::map<const graph::Node*, graph::NodeTime>& times) {
  nlohmann::json events = nlohmann::json::array();
  for (const auto& entry : times) {
    events.push_back({{"name", entry.first->name.empty() ? entry.first->op : entry.first->name},
                      {"cat", op_name(*entry.first)},
                      {"ph", "X"},
                      {"pid", 1},
                      {"tid", 1},
                      {"ts", entry.second.first_start * 1e6},
                      {"dur", entry.second.seconds * 1e6 / static_cast<double>(entry.second.calls)}});
  }
  return nlohmann::json{{"traceEvents", events}}.dump(1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string summary(const graph::Value& value) {
  std::string out = describe(value);
  if (value.kind() == graph::Value::Kind::kStrings && !value.strings().values.empty()) {
    return cat(out, "  ", in_quotes(value.strings().values.front()));
  }
  if (value.kind() != graph::Value::Kind::kTensor || value.tensor().numel() == 0) return out;
  const auto numbers = value.tensor().to_vector<double>();
  if (numbers.size() <= 8) {
    out += " ";
    for (const double number : numbers) out += fmt::format(" {:.6g}", number);
    return out;
  }
  double low = INFINITY, high = -INFINITY, total = 0;
  for (const double number : numbers) low = std::min(low, number), high = std::max(high, number), total += number;
  return out + fmt::format("  {:.6g} to {:.6g}, mean {:.6g}", low, high, total / static_cast<double>(numbers.size()));
}

}  // namespace wick
