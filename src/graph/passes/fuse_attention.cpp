
#include "graph/operators.h"
#include "graph/passes/pattern.h"

namespace wick::graph {
namespace {

bool has_rank_4(const Pattern& pattern, ValueId id) {
  const Node* transpose = pattern.maker(id, "Transpose");
  const Attribute* order = transpose ? transpose->find("perm") : nullptr;
  return order && order->ints.size() == 4;
}

// MatMul(Softmax(scale * MatMul(q, transposed k) + mask), v), all of rank 4.
bool match(Pattern& pattern, Node& last, std::vector<std::pair<ValueId, Node*>>& keys) {
  if (!last.domain.empty() || last.op != "MatMul" || last.inputs.size() != 2) return false;
  Node* softmax = pattern.only_maker(last.inputs[0], "Softmax");
  if (!softmax) return false;
  const Attribute* axis = softmax->find("axis");
  const int64_t dim = axis ? axis->i.value_or(-1) : softmax->opset < 13 ? 1 : -1;
  if (dim != -1 && dim != 3) return false;
  std::vector<Node*> nodes{softmax};
  ValueId at = softmax->inputs[0], mask = kAbsent;
  double scale = 1;
  const auto is_scores = [&](ValueId v) {
    return pattern.only_maker(v, "MatMul") || pattern.only_maker(v, "Div") || pattern.only_maker(v, "Mul");
  };
  if (Node* add = pattern.only_maker(at, "Add")) {
    if (!pattern.either(*add, is_scores, at, mask)) return false;
    nodes.push_back(add);
  }
  if (Node* div = pattern.only_maker(at, "Div")) {
    const auto number = pattern.number(div->inputs[1]);
    if (!number || *number == 0) return false;
    scale = 1 / *number;
    at = div->inputs[0];
    nodes.push_back(div);
  } else if (Node* mul = pattern.only_maker(at, "Mul")) {
    ValueId factor = kAbsent, rest = kAbsent;
    if (!pattern.either(
            *mul, [&](ValueId v) { return pattern.number(v).has_value(); }, factor, rest))
      return false;
    scale = *pattern.number(factor);
    if (scale == 0) return false;
    at = rest;
    nodes.push_back(mul);
  }
  Node* product = pattern.only_maker(at, "MatMul");
  if (!product || product->inputs.size() != 2 || !has_rank_4(pattern, product->inputs[1]) ||
      !has_rank_4(pattern, product->inputs[0]) || !has_rank_4(pattern, last.inputs[1])) {
    return false;
  }
  nodes.push_back(product);
  for (Node* node : nodes) pattern.drop(node);
  const ValueId key = pattern.graph().add_value(cat(last.name, ".key"));
  const ValueId query = product->inputs[0], value = last.inputs[1];
  keys.emplace_back(key, &last);
  std::vector<ValueId> inputs{query, key, value};
  if (mask != kAbsent) inputs.push_back(mask);
  const ValueId transposed = product->inputs[1];
  pattern.become(last, "Attention", std::move(inputs),
                 {float_attribute("scale", static_cast<float>(scale)), int_attribute("transposed_key", transposed)},
                 23);
  return true;
}

}  // namespace

void fuse_attention(Graph& graph, const KeepNames& keep) {
  Pattern pattern(graph, keep);
  std::vector<std::pair<ValueId, Node*>> keys;
  for (Node& node : graph.nodes) match(pattern, node, keys);
  // Attention takes keys as they were before they were transposed: a view.
  std::vector<Node> turned;
  for (const auto& entry : keys) {
    Node back;
    back.name = cat(entry.second->name, ".key");
    back.op = "Transpose";
    back.opset = 13;
    back.implementation = find_operator("", "Transpose");
    Attribute order;
    order.name = "perm";
    order.ints = {0, 1, 3, 2};
    back.attributes = {order};
    back.inputs = {static_cast<ValueId>(*entry.second->find("transposed_key")->i)};
    back.outputs = {entry.first};
    entry.second->attributes.pop_back();
    turned.push_back(std::move(back));
  }
  pattern.remove_dropped();
  for (Node& node : turned) graph.nodes.push_back(std::move(node));
  if (!turned.empty()) sort_nodes(graph);
}

}  // namespace wick::graph
