#include <cmath>

#include "graph/passes/pattern.h"

namespace wick::graph {
namespace {

// x when `id` is 1 + erf(x / sqrt(2)); the nodes on the way.
ValueId match_erf(const Pattern& pattern, ValueId id, std::vector<Node*>& nodes) {
  Node* add = pattern.only_maker(id, "Add");
  if (!add) return kAbsent;
  ValueId erf_value = kAbsent, one = kAbsent;
  if (!pattern.either(
          *add, [&](ValueId v) { return pattern.only_maker(v, "Erf") != nullptr; }, erf_value, one))
    return kAbsent;
  if (!pattern.is_number(one, 1)) return kAbsent;
  Node* erf = pattern.only_maker(erf_value, "Erf");
  const ValueId scaled = erf->inputs[0];
  nodes.insert(nodes.end(), {add, erf});
  if (Node* div = pattern.only_maker(scaled, "Div"); div && pattern.is_number(div->inputs[1], std::sqrt(2.0))) {
    nodes.push_back(div);
    return div->inputs[0];
  }
  Node* mul = pattern.only_maker(scaled, "Mul");
  ValueId factor = kAbsent, x = kAbsent;
  if (!mul || !pattern.either(
                  *mul, [&](ValueId v) { return pattern.is_number(v, std::sqrt(0.5)); }, factor, x))
    return kAbsent;
  nodes.push_back(mul);
  return x;
}

// 0.5 x (1 + erf(x / sqrt(2))), whose three factors stand in any order.
bool match(Pattern& pattern, Node& last) {
  if (!last.domain.empty() || last.op != "Mul" || last.inputs.size() != 2) return false;
  for (int way = 0; way < 2; ++way) {
    const ValueId a = last.inputs[way], b = last.inputs[1 - way];
    std::vector<Node*> nodes;
    ValueId x = kAbsent;
    if (pattern.is_number(b, 0.5)) {  // (x * (1 + erf)) * 0.5
      Node* inner = pattern.only_maker(a, "Mul");
      if (!inner || inner->inputs.size() != 2) continue;
      for (int side = 0; side < 2 && x == kAbsent; ++side) {
        nodes = {inner};
        const ValueId found = match_erf(pattern, inner->inputs[side], nodes);
        if (found != kAbsent && found == inner->inputs[1 - side]) x = found;
      }
    } else {  // (x * 0.5) * (1 + erf), or x * (0.5 * (1 + erf))
      const ValueId found = match_erf(pattern, a, nodes);
      Node* half = pattern.only_maker(b, "Mul");
      ValueId number = kAbsent, rest = kAbsent;
      if (found != kAbsent && half &&
          pattern.either(
              *half, [&](ValueId v) { return pattern.is_number(v, 0.5); }, number, rest) &&
          rest == found) {
        nodes.push_back(half);
        x = found;
      }
      if (x == kAbsent) {
        nodes.clear();
        Node* outer = pattern.only_maker(a, "Mul");
        if (outer && pattern.either(
                         *outer, [&](ValueId v) { return pattern.is_number(v, 0.5); }, number, rest)) {
          nodes = {outer};
          const ValueId inside = match_erf(pattern, rest, nodes);
          if (inside != kAbsent && inside == b) x = inside;
        }
      }
    }
    if (x == kAbsent) continue;
    for (Node* node : nodes) pattern.drop(node);
    pattern.become(last, "Gelu", {x}, {}, 20);
    return true;
  }
  return false;
}

}  // namespace

void fuse_gelu(Graph& graph, const KeepNames& keep) {
  Pattern pattern(graph, keep);
  for (Node& node : graph.nodes) match(pattern, node);
  pattern.remove_dropped();
}

}  // namespace wick::graph
