#include "graph/passes/pattern.h"

#include <cmath>

#include "graph/operators.h"

namespace wick::graph {

Node* Pattern::maker(ValueId id, std::string_view op) const {
  if (id == kAbsent || makers_[id] < 0) return nullptr;
  Node& node = graph_.nodes[makers_[id]];
  const bool is_it = node.domain.empty() && node.op == op && !is_dropped(node) && node.outputs[0] == id;
  return is_it ? &node : nullptr;
}

Node* Pattern::only_maker(ValueId id, std::string_view op) const { return is_free(id) ? maker(id, op) : nullptr; }

bool Pattern::is_free(ValueId id) const {
  return id != kAbsent && uses_[id] == 1 && !keep_.contains(graph_.values[id].name);
}

std::optional<double> Pattern::number(ValueId id) const {
  const Value* value = graph_.constant(id);
  if (!value || value->kind() != Value::Kind::kTensor || value->tensor().numel() != 1) return std::nullopt;
  return value->tensor().item();
}

bool Pattern::is_number(ValueId id, double value, double tolerance) const {
  const auto found = number(id);
  return found && std::fabs(*found - value) <= tolerance * std::fabs(value);
}

void Pattern::become(Node& node, std::string_view op, std::vector<ValueId> inputs, std::vector<Attribute> attributes,
                     int opset) {
  node.op = op;
  node.domain.clear();
  node.opset = opset;
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  node.implementation = find_operator("", op);
}

void Pattern::remove_dropped() {
  std::vector<Node> kept;
  for (size_t i = 0; i < graph_.nodes.size(); ++i) {
    if (!dropped_[i]) kept.push_back(std::move(graph_.nodes[i]));
  }
  graph_.nodes = std::move(kept);
}

Attribute float_attribute(std::string name, float value) {
  Attribute out;
  out.name = std::move(name);
  out.f = value;
  return out;
}
Attribute int_attribute(std::string name, int64_t value) {
  Attribute out;
  out.name = std::move(name);
  out.i = value;
  return out;
}
Attribute text_attribute(std::string name, std::string value) {
  Attribute out;
  out.name = std::move(name);
  out.s = std::move(value);
  return out;
}

}  // namespace wick::graph
