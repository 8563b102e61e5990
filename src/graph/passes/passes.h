#pragma once

#include <set>
#include <string>

#include "graph/ir.h"

namespace wick::graph {

// Each pass changes a graph and its subgraphs into one that gives the same. Values named in `keep` stay.
using KeepNames = std::set<std::string, std::less<>>;

void fold_constants(Graph& graph, const KeepNames& keep);   // nodes whose inputs never change
void skip_identities(Graph& graph, const KeepNames& keep);  // Identity, and Dropout, which does nothing
void remove_dead_nodes(Graph& graph, const KeepNames& keep);

// All of them, in their order.
void run_passes(Graph& graph, const KeepNames& keep);

// For passes over all subgraphs: the pass on each body of a node.
template <typename Pass>
void each_body(Graph& graph, Pass pass) {
  for (Node& node : graph.nodes) {
    for (Attribute& attribute : node.attributes) {
      if (attribute.graph) pass(*attribute.graph);
    }
  }
}

}  // namespace wick::graph
