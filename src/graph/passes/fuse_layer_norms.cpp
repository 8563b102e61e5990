#include "graph/passes/pattern.h"

namespace wick::graph {
namespace {

// A mean over the last dimension.
bool is_row_mean(const Graph& graph, const Node& node) {
  const Attribute* keepdims = node.find("keepdims");
  if (keepdims && keepdims->i.value_or(1) == 0) return false;
  std::vector<int64_t> axes;
  if (const Attribute* given = node.find("axes")) axes = given->ints;
  if (node.inputs.size() > 1 && node.inputs[1] != kAbsent) {
    const Value* value = graph.constant(node.inputs[1]);
    if (!value || value->kind() != Value::Kind::kTensor) return false;
    axes = value->tensor().to_vector<int64_t>();
  }
  return axes == std::vector<int64_t>{-1};
}

// Add(Mul(Div(d, Sqrt(Add(ReduceMean(Pow(d, 2)), eps))), scale), bias) with d = Sub(x, ReduceMean(x)). Several nodes
// read d.
bool match(Pattern& pattern, Node& last) {
  Graph& graph = pattern.graph();
  if (!last.domain.empty() || last.op != "Add") return false;
  ValueId scaled = kAbsent, bias = kAbsent, divided = kAbsent, scale = kAbsent;
  if (!pattern.either(
          last, [&](ValueId v) { return pattern.only_maker(v, "Mul") != nullptr; }, scaled, bias))
    return false;
  Node* mul = pattern.only_maker(scaled, "Mul");
  if (!pattern.either(
          *mul, [&](ValueId v) { return pattern.only_maker(v, "Div") != nullptr; }, divided, scale))
    return false;
  const Value *scales = graph.constant(scale), *biases = graph.constant(bias);
  if (!scales || !biases || scales->type() != ElementType::kF32 || scales->shape().rank() != 1 ||
      biases->shape() != scales->shape())
    return false;
  Node* div = pattern.only_maker(divided, "Div");
  Node* root = pattern.only_maker(div->inputs[1], "Sqrt");
  Node* sum = root ? pattern.only_maker(root->inputs[0], "Add") : nullptr;
  ValueId epsilon = kAbsent, variance = kAbsent;
  if (!sum || !pattern.either(
                  *sum, [&](ValueId v) { return pattern.number(v).has_value(); }, epsilon, variance))
    return false;
  Node* mean = pattern.only_maker(variance, "ReduceMean");
  if (!mean || !is_row_mean(graph, *mean)) return false;
  const ValueId centred = div->inputs[0];
  Node* square = pattern.only_maker(mean->inputs[0], "Pow");
  if (square && (square->inputs[0] != centred || !pattern.is_number(square->inputs[1], 2))) return false;
  if (!square) {
    square = pattern.only_maker(mean->inputs[0], "Mul");
    if (!square || square->inputs[0] != centred || square->inputs[1] != centred) return false;
  }
  Node* sub = pattern.maker(centred, "Sub");
  Node* average = sub ? pattern.only_maker(sub->inputs[1], "ReduceMean") : nullptr;
  if (!average || average->inputs[0] != sub->inputs[0] || !is_row_mean(graph, *average)) return false;
  for (Node* node : {mul, div, root, sum, mean, square}) pattern.drop(node);
  const ValueId x = sub->inputs[0];
  pattern.become(last, "LayerNormalization", {x, scale, bias},
                 {int_attribute("axis", -1), float_attribute("epsilon", static_cast<float>(*pattern.number(epsilon)))},
                 17);
  return true;  // what made d goes with the dead nodes, if nobody else reads it
}

}  // namespace

void fuse_layer_norms(Graph& graph, const KeepNames& keep) {
  Pattern pattern(graph, keep);
  for (Node& node : graph.nodes) match(pattern, node);
  pattern.remove_dropped();
}

}  // namespace wick::graph
