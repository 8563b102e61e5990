#include "graph/ir.h"

#include <algorithm>

#include "base/utf8.h"

namespace wick::graph {

const Attribute* Node::find(std::string_view attribute) const {
  for (const Attribute& entry : attributes) {
    if (entry.name == attribute) return &entry;
  }
  return nullptr;
}

ValueId Graph::add_value(std::string value_name) {
  values.push_back({std::move(value_name), {}, {}, false});
  return static_cast<ValueId>(values.size()) - 1;
}

const Value* Graph::constant(ValueId id) const {
  return id != kAbsent && values[id].is_constant ? &values[id].constant : nullptr;
}

std::string describe(const Node& node) {
  const std::string op = node.domain.empty() ? node.op : cat(node.domain, ".", node.op);
  return node.name.empty() ? cat("a node of ", in_quotes(op)) : cat("node ", in_quotes(node.name), " (", op, ")");
}

std::vector<ValueId> reads(const Node& node) {
  std::vector<ValueId> ids = node.inputs;
  for (const Attribute& attribute : node.attributes) {
    if (!attribute.graph) continue;
    for (const Capture& capture : attribute.graph->captures) ids.push_back(capture.outer);
  }
  return ids;
}

std::vector<int> count_uses(const Graph& graph) {
  std::vector<int> uses(graph.values.size());
  const auto use = [&](ValueId id) {
    if (id != kAbsent) ++uses[id];
  };
  for (const Node& node : graph.nodes) {
    for (const ValueId id : reads(node)) use(id);
  }
  for (const ValueId id : graph.outputs) use(id);
  return uses;
}

std::vector<int> find_makers(const Graph& graph) {
  std::vector<int> makers(graph.values.size(), -1);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const ValueId id : graph.nodes[i].outputs) {
      if (id != kAbsent) makers[id] = static_cast<int>(i);
    }
  }
  return makers;
}

void sort_nodes(Graph& graph) {
  const std::vector<int> makers = find_makers(graph);
  std::vector<std::vector<int>> readers(graph.nodes.size());
  std::vector<int> waits(graph.nodes.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const ValueId id : reads(graph.nodes[i])) {
      if (id == kAbsent || makers[id] < 0) continue;
      readers[makers[id]].push_back(static_cast<int>(i));
      ++waits[i];
    }
  }
  // Of the nodes that can run, the one that stands first in the file, so that a sorted file stays as it is.
  std::vector<int> ready;
  const auto later = [](int a, int b) { return a > b; };
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    if (waits[i] == 0) ready.push_back(static_cast<int>(i));
  }
  std::make_heap(ready.begin(), ready.end(), later);
  std::vector<Node> sorted;
  sorted.reserve(graph.nodes.size());
  while (!ready.empty()) {
    std::pop_heap(ready.begin(), ready.end(), later);
    const int next = ready.back();
    ready.pop_back();
    for (const int reader : readers[next]) {
      if (--waits[reader] > 0) continue;
      ready.push_back(reader);
      std::push_heap(ready.begin(), ready.end(), later);
    }
    sorted.push_back(std::move(graph.nodes[next]));
  }
  if (sorted.size() < graph.nodes.size()) {
    const auto stuck = std::find_if(waits.begin(), waits.end(), [](int count) { return count > 0; });
    throw Error(ErrorCode::kBadFile, cat(describe(graph.nodes[static_cast<size_t>(stuck - waits.begin())]),
                                         " is on a cycle, or behind one: its inputs are never there"));
  }
  graph.nodes = std::move(sorted);
}

void plan_releases(Graph& graph) {
  std::vector<int> last(graph.values.size(), -1);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    Node& node = graph.nodes[i];
    node.last_uses.clear();
    for (const ValueId id : reads(node)) {
      if (id != kAbsent) last[id] = static_cast<int>(i);
    }
    for (const ValueId id : node.outputs) {
      if (id != kAbsent) last[id] = static_cast<int>(i);  // one that nobody reads goes at once
    }
    for (const Attribute& attribute : node.attributes) {
      if (attribute.graph) plan_releases(*attribute.graph);
    }
  }
  for (const ValueId id : graph.outputs) {
    if (id != kAbsent) last[id] = -1;
  }
  for (size_t id = 0; id < graph.values.size(); ++id) {
    if (last[id] >= 0 && !graph.values[id].is_constant) {
      graph.nodes[last[id]].last_uses.push_back(static_cast<ValueId>(id));
    }
  }
}

}  // namespace wick::graph
