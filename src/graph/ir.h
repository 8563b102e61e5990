#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/value.h"

namespace wick::graph {

struct Graph;
struct Operator;  // graph/operators.h

// A place of a graph's frame; kAbsent: an input or output that is left out.
using ValueId = int32_t;
inline constexpr ValueId kAbsent = -1;

struct Attribute {
  std::string name;
  std::optional<int64_t> i;
  std::optional<float> f;
  std::optional<std::string> s;
  std::vector<int64_t> ints;
  std::vector<float> floats;
  std::vector<std::string> strings;
  Value value;                   // of a tensor
  std::shared_ptr<Graph> graph;  // of a branch or a loop's body
  ValueType type;                // of a type: where an optional is made
};

struct Node {
  std::string name, op, domain;  // the domain of ai.onnx is empty
  int opset = 0;
  std::vector<ValueId> inputs, outputs;
  std::vector<Attribute> attributes;
  const Operator* implementation = nullptr;
  std::shared_ptr<void> prepared;  // what the operator made of its constants (the executor's; not thread-safe)
  std::vector<ValueId> last_uses;  // values that nobody needs behind this node; set by plan_releases

  const Attribute* find(std::string_view attribute) const;
};

// What a value is called and, if it never changes, what it is.
struct ValueSlot {
  std::string name;
  ValueType type;
  Value constant;
  bool is_constant = false;
};

// A value of the graph around a subgraph, and what it is inside.
struct Capture {
  ValueId outer, inner;
};

// Nodes in an order in which they can run. Each value is given by one node, or is an input, a constant or a capture.
struct Graph {
  std::string name;
  std::vector<ValueSlot> values;
  std::vector<Node> nodes;
  std::vector<ValueId> inputs, outputs;
  std::vector<Capture> captures;  // empty in the model's own graph

  ValueId add_value(std::string name);
  const Value* constant(ValueId id) const;  // null: it is not one
};

// How a node is called in messages: node 'name' (Conv).
std::string describe(const Node& node);

// All values that a node reads: its inputs and what its subgraphs capture. May hold kAbsent.
std::vector<ValueId> reads(const Node& node);
// How often each value is read, a graph's outputs included.
std::vector<int> count_uses(const Graph& graph);
// The node that gives each value; -1: none does.
std::vector<int> find_makers(const Graph& graph);

// Puts nodes into an order in which they can run. Throws Error naming a node on a cycle.
void sort_nodes(Graph& graph);
// Sets Node::last_uses, in subgraphs too.
void plan_releases(Graph& graph);

}  // namespace wick::graph
