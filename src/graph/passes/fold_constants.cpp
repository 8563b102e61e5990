#include <algorithm>

#include "graph/executor.h"
#include "graph/operators.h"
#include "graph/passes/passes.h"
#include "tensor/arena.h"
#include "tensor/reuse_pool.h"

namespace wick::graph {
namespace {

constexpr int64_t kAlways = int64_t{1} << 20;  // bytes that a constant may have whatever it was made of
constexpr int64_t kGrowth = 4;                 // else as many times its inputs: 8 bits to f32

// A value of its own, or a view of a constant that stays in the file.
Value settled(const Value& value, const std::vector<const Value*>& inputs) {
  if (value.kind() == Value::Kind::kSequence) {
    std::vector<Value> parts;
    for (const Value& part : value.sequence()) parts.push_back(settled(part, inputs));
    return {std::move(parts), value.type()};
  }
  if (value.kind() != Value::Kind::kTensor) return value;
  const bool is_view = std::any_of(inputs.begin(), inputs.end(), [&](const Value* input) {
    return input->kind() == Value::Kind::kTensor && input->tensor().storage().get() == value.tensor().storage().get();
  });
  return is_view ? value : Value(value.tensor().clone(), value.type());
}

void fold_node(Graph& graph, const Node& node, bool& folded) {
  std::vector<const Value*> inputs;
  int64_t bytes = 0;
  for (const ValueId id : node.inputs) {
    if (id == kAbsent) continue;
    inputs.push_back(&graph.values[id].constant);
    bytes += inputs.back()->bytes();
  }
  const int64_t most = std::max(kAlways, kGrowth * bytes);
  std::vector<Value> results, kept;
  try {
    ReusePool pool(2 * most + kAlways);
    {
      const ReuseScope scope(pool);
      results = run_constant_node(graph, node, most);
    }
    for (const Value& result : results) kept.push_back(settled(result, inputs));
    results.clear();
  } catch (const Error&) {
    return;  // what is wrong is said when the node runs, if it ever does
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == kAbsent) continue;
    graph.values[node.outputs[i]].constant = kept[i];
    graph.values[node.outputs[i]].is_constant = true;
  }
  folded = true;
}

}  // namespace

void fold_constants(Graph& graph, const KeepNames& keep) {
  const ArenaPause pause;
  std::vector<Node> left;
  for (Node& node : graph.nodes) {
    bool constant = !node.implementation->is_random;
    for (const ValueId id : node.inputs) constant = constant && (id == kAbsent || graph.values[id].is_constant);
    for (const ValueId id : node.outputs)
      constant = constant && (id == kAbsent || !keep.contains(graph.values[id].name));
    bool folded = false;
    if (constant) fold_node(graph, node, folded);
    if (folded) continue;
    // Bodies see constants as their own.
    for (Attribute& attribute : node.attributes) {
      if (!attribute.graph) continue;
      Graph& body = *attribute.graph;
      std::vector<Capture> captures;
      for (const Capture& capture : body.captures) {
        if (!graph.values[capture.outer].is_constant) {
          captures.push_back(capture);
          continue;
        }
        body.values[capture.inner].constant = graph.values[capture.outer].constant;
        body.values[capture.inner].is_constant = true;
      }
      body.captures = std::move(captures);
      fold_constants(body, keep);
    }
    left.push_back(std::move(node));
  }
  graph.nodes = std::move(left);
}

}  // namespace wick::graph
