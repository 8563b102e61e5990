#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "graph/ir.h"

namespace wick::graph {

// What one operator cost, by node.
struct NodeTime {
  const Node* node;
  int64_t calls = 0;
  double seconds = 0, first_start = 0;  // first_start: after the run began
};

struct RunOptions {
  // Sees every value as it is made, by name, and may put another in its place. Only names that the passes left are
  // there: see GraphOptions::keep.
  std::function<void(const std::string& name, Value& value)> hook = {};
  std::map<const Node*, NodeTime>* profile = nullptr;
  uint64_t seed = 0;            // of operators that draw numbers and name no seed
  int64_t max_steps = 1 << 24;  // nodes that are run, in loops too
};

// What all graphs of one run share.
struct RunState {
  const RunOptions& options;
  int64_t value_limit;  // bytes of one value
  int64_t steps = 0;
  uint64_t drawn = 0;  // operators that have drawn
  double started = 0;
};

// The values of one graph while it runs.
class Frame {
 public:
  Frame(const Graph& graph, RunState& state) : graph_(graph), state_(state), values_(graph.values.size()) {}

  const Graph& graph() const { return graph_; }
  RunState& state() { return state_; }
  const Value& at(ValueId id) const { return graph_.values[id].is_constant ? graph_.values[id].constant : values_[id]; }
  void put(ValueId id, Value value);

  // Runs all nodes. `inputs` and the result have the order of the graph's.
  std::vector<Value> run(std::vector<Value> inputs);
  // The same of a subgraph, which sees values of this frame.
  std::vector<Value> run_body(const Graph& body, std::vector<Value> inputs);

 private:
  void run_node(const Node& node);

  const Graph& graph_;
  RunState& state_;
  std::vector<Value> values_;
};

// One node whose inputs are all constants of the graph. Throws what the operator throws.
std::vector<Value> run_constant_node(const Graph& graph, const Node& node, int64_t value_limit);

}  // namespace wick::graph
