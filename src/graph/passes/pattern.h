#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "graph/passes/passes.h"

namespace wick::graph {

// For passes that look for several nodes in a row and put one in their place: the last of them becomes the new one, the
// others are dropped.
class Pattern {
 public:
  Pattern(Graph& graph, const KeepNames& keep)
      : graph_(graph),
        keep_(keep),
        makers_(find_makers(graph)),
        uses_(count_uses(graph)),
        dropped_(graph.nodes.size()) {}

  Graph& graph() { return graph_; }
  // The node of ai.onnx of this name that gives a value; null: another one does.
  Node* maker(ValueId id, std::string_view op) const;
  // The same, when nobody else needs the value.
  Node* only_maker(ValueId id, std::string_view op) const;
  bool is_free(ValueId id) const;                  // used once, and not to be watched
  std::optional<double> number(ValueId id) const;  // a constant of one element
  // Both inputs of a node in either order: the one that `is_it` accepts first.
  template <typename Test>
  bool either(const Node& node, Test is_it, ValueId& it, ValueId& other) const {
    if (node.inputs.size() != 2) return false;
    for (size_t i = 0; i < 2; ++i) {
      if (!is_it(node.inputs[i])) continue;
      it = node.inputs[i], other = node.inputs[1 - i];
      return true;
    }
    return false;
  }
  bool is_number(ValueId id, double value, double tolerance = 1e-3) const;

  void drop(Node* node) { dropped_[static_cast<size_t>(node - graph_.nodes.data())] = true; }
  bool is_dropped(const Node& node) const { return dropped_[static_cast<size_t>(&node - graph_.nodes.data())]; }
  // Makes a node of another one, with the same output.
  void become(Node& node, std::string_view op, std::vector<ValueId> inputs, std::vector<Attribute> attributes,
              int opset);
  void remove_dropped();

 private:
  Graph& graph_;
  const KeepNames& keep_;
  std::vector<int> makers_, uses_;
  std::vector<bool> dropped_;
};

Attribute float_attribute(std::string name, float value);
Attribute int_attribute(std::string name, int64_t value);
Attribute text_attribute(std::string name, std::string value);

// In their files.
void fuse_activations(Graph& graph, const KeepNames& keep);  // Conv and Gemm with what follows
void fuse_batch_norms(Graph& graph, const KeepNames& keep);  // into the weights of Conv
void fuse_gelu(Graph& graph, const KeepNames& keep);
void fuse_layer_norms(Graph& graph, const KeepNames& keep);
void fuse_attention(Graph& graph, const KeepNames& keep);
void fuse_biases(Graph& graph, const KeepNames& keep);  // MatMul and an Add behind it
void fuse_product_activations(Graph& graph, const KeepNames& keep);

}  // namespace wick::graph
