#include <algorithm>

#include "graph/passes/pattern.h"

namespace wick::graph {
namespace {

void replace_uses(Graph& graph, ValueId from, ValueId to) {
  for (Node& node : graph.nodes) {
    std::replace(node.inputs.begin(), node.inputs.end(), from, to);
    for (Attribute& attribute : node.attributes) {
      if (!attribute.graph) continue;
      for (Capture& capture : attribute.graph->captures) {
        if (capture.outer == from) capture.outer = to;
      }
    }
  }
}

}  // namespace

void skip_identities(Graph& graph, const KeepNames& keep) {
  each_body(graph, [&](Graph& body) { skip_identities(body, keep); });
  for (const Node& node : graph.nodes) {
    const bool drops = node.op == "Dropout" && (node.inputs.size() < 3 || node.inputs[2] == kAbsent) &&
                       (node.outputs.size() < 2 || node.outputs[1] == kAbsent);
    if (!node.domain.empty() || (node.op != "Identity" && !drops) || node.outputs.empty() || node.inputs.empty())
      continue;
    const ValueId in = node.inputs[0], out = node.outputs[0];
    if (in == kAbsent || out == kAbsent || keep.contains(graph.values[out].name)) continue;
    replace_uses(graph, out, in);
  }
}

void remove_dead_nodes(Graph& graph, const KeepNames& keep) {
  each_body(graph, [&](Graph& body) { remove_dead_nodes(body, keep); });
  std::vector<bool> needed(graph.values.size());
  for (const ValueId id : graph.outputs) {
    if (id != kAbsent) needed[id] = true;
  }
  std::vector<Node> kept;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    Node& node = graph.nodes[i];
    const bool is_needed = std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
      return id != kAbsent && (needed[id] || keep.contains(graph.values[id].name));
    });
    if (!is_needed) continue;
    for (const ValueId id : reads(node)) {
      if (id != kAbsent) needed[id] = true;
    }
    kept.push_back(std::move(node));
  }
  std::reverse(kept.begin(), kept.end());
  graph.nodes = std::move(kept);
}

void run_passes(Graph& graph, const KeepNames& keep) {
  skip_identities(graph, keep);
  fold_constants(graph, keep);
  remove_dead_nodes(graph, keep);
  each_body(graph, [&](Graph& body) { run_passes(body, keep); });
  for (const auto pass : {fuse_batch_norms, fuse_activations, fuse_gelu, fuse_layer_norms, fuse_attention, fuse_biases,
                          fuse_product_activations}) {
    pass(graph, keep);
  }
  remove_dead_nodes(graph, keep);
}

}  // namespace wick::graph
