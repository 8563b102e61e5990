#include <cmath>
#include <limits>

#include "graph/passes/pattern.h"
#include "ops/binary.h"
#include "ops/view.h"
#include "tensor/create.h"

namespace wick::graph {
namespace {

// The parameters of an activation behind a convolution; false: it is none that can be there.
bool activation_of(const Pattern& pattern, const Node& node, std::vector<float>& parameters) {
  if (!node.domain.empty()) return false;
  if (node.op == "Relu" || node.op == "Sigmoid" || node.op == "Tanh" || node.op == "HardSwish") return true;
  if (node.op == "LeakyRelu") {
    const Attribute* alpha = node.find("alpha");
    parameters = {alpha ? alpha->f.value_or(0.01f) : 0.01f};
    return parameters[0] >= 0 && parameters[0] <= 1;
  }
  if (node.op == "HardSigmoid") {
    const Attribute *alpha = node.find("alpha"), *beta = node.find("beta");
    parameters = {alpha ? alpha->f.value_or(0.2f) : 0.2f, beta ? beta->f.value_or(0.5f) : 0.5f};
    return true;
  }
  if (node.op != "Clip") return false;
  parameters = {-std::numeric_limits<float>::infinity(), std::numeric_limits<float>::infinity()};
  for (size_t i = 0; i < 2; ++i) {
    const Attribute* old = node.find(i == 0 ? "min" : "max");
    if (old) parameters[i] = old->f.value_or(parameters[i]);
    if (i + 1 >= node.inputs.size() || node.inputs[i + 1] == kAbsent) continue;
    const auto limit = pattern.number(node.inputs[i + 1]);
    if (!limit) return false;
    parameters[i] = static_cast<float>(*limit);
  }
  return parameters[0] <= parameters[1];
}

bool is_f32_conv(const Graph& graph, const Node& conv) {
  const Value* weight = conv.inputs.size() > 1 ? graph.constant(conv.inputs[1]) : nullptr;
  return weight && weight->type() == ElementType::kF32 && !conv.find("activation");
}

}  // namespace

void fuse_activations(Graph& graph, const KeepNames& keep) {
  Pattern pattern(graph, keep);
  for (Node& node : graph.nodes) {
    std::vector<float> parameters;
    if (node.inputs.empty() || !activation_of(pattern, node, parameters)) continue;
    Node* before = pattern.only_maker(node.inputs[0], "Conv");
    if (!before || !is_f32_conv(graph, *before)) continue;
    std::vector<Attribute> attributes = before->attributes;
    attributes.push_back(text_attribute("activation", node.op));
    if (!parameters.empty()) {
      Attribute list;
      list.name = "activation_params";
      list.floats = parameters;
      attributes.push_back(list);
    }
    const std::vector<ValueId> inputs = before->inputs;
    pattern.become(node, "Conv", inputs, std::move(attributes), before->opset);
    pattern.drop(before);
  }
  pattern.remove_dropped();
}

// y = (conv(x) - mean) / sqrt(var + eps) * scale + bias, with the factors in the weights.
void fuse_batch_norms(Graph& graph, const KeepNames& keep) {
  Pattern pattern(graph, keep);
  for (Node& node : graph.nodes) {
    if (!node.domain.empty() || node.op != "BatchNormalization" || node.inputs.size() != 5) continue;
    const Attribute* training = node.find("training_mode");
    if (training && training->i.value_or(0) != 0) continue;
    Node* conv = pattern.only_maker(node.inputs[0], "Conv");
    if (!conv || !is_f32_conv(graph, *conv)) continue;
    bool plain = true;
    const Value* parts[4];
    const Tensor& weight = graph.constant(conv->inputs[1])->tensor();
    for (size_t i = 0; i < 4; ++i) {
      parts[i] = graph.constant(node.inputs[i + 1]);
      plain = plain && parts[i] && parts[i]->type() == ElementType::kF32 && weight.rank() > 2 &&
              parts[i]->shape() == Shape{weight.dim(0)};
    }
    const bool has_bias = conv->inputs.size() > 2 && conv->inputs[2] != kAbsent;
    const Value* bias = has_bias ? graph.constant(conv->inputs[2]) : nullptr;
    if (!plain || (has_bias && (!bias || bias->shape() != Shape{weight.dim(0)}))) continue;
    const Attribute* epsilon = node.find("epsilon");
    const double eps = epsilon ? epsilon->f.value_or(1e-5f) : 1e-5;
    const auto scale = parts[0]->tensor().to_vector<double>(), shift = parts[1]->tensor().to_vector<double>(),
               mean = parts[2]->tensor().to_vector<double>(), var = parts[3]->tensor().to_vector<double>();
    const auto old_bias = bias ? bias->tensor().to_vector<double>() : std::vector<double>(scale.size());
    const Tensor factors = empty({weight.dim(0)}), offsets = empty({weight.dim(0)});
    for (int64_t c = 0; c < weight.dim(0); ++c) {
      const double factor = scale[c] / std::sqrt(var[c] + eps);
      factors.mutable_data<float>()[c] = static_cast<float>(factor);
      offsets.mutable_data<float>()[c] = static_cast<float>((old_bias[c] - mean[c]) * factor + shift[c]);
    }
    std::vector<int64_t> column(static_cast<size_t>(weight.rank()), 1);
    column[0] = weight.dim(0);
    const Tensor to = mul(weight, reshape(factors, std::span<const int64_t>(column)));
    const auto constant = [&](const Tensor& tensor, std::string_view what) {
      const ValueId id = graph.add_value(cat(node.name, what));
      graph.values[id].constant = Value(tensor);
      graph.values[id].is_constant = true;
      return id;
    };
    const std::vector<Attribute> attributes = conv->attributes;
    const ValueId image = conv->inputs[0];
    const int opset = conv->opset;
    pattern.drop(conv);
    const ValueId new_weight = constant(to, ".weight"), new_bias = constant(offsets, ".bias");
    pattern.become(node, "Conv", {image, new_weight, new_bias}, attributes, opset);
  }
  pattern.remove_dropped();
}

// MatMul with a bias, then Gelu.
void fuse_product_activations(Graph& graph, const KeepNames& keep) {
  Pattern pattern(graph, keep);
  for (Node& node : graph.nodes) {
    if (!node.domain.empty() || (node.op != "Gelu" && node.op != "Relu") || node.inputs.empty()) continue;
    const Attribute* form = node.find("approximate");
    Node* matmul = pattern.only_maker(node.inputs[0], "MatMul");
    if (!matmul || matmul->inputs.size() != 3 || matmul->find("activation")) continue;
    const std::string name = form && form->s && *form->s == "tanh" ? "GeluTanh" : node.op;
    const std::vector<ValueId> inputs = matmul->inputs;
    pattern.drop(matmul);
    pattern.become(node, "MatMul", inputs, {text_attribute("activation", name)}, matmul->opset);
  }
  pattern.remove_dropped();
}

// MatMul, then Add of a constant vector.
void fuse_biases(Graph& graph, const KeepNames& keep) {
  Pattern pattern(graph, keep);
  for (Node& node : graph.nodes) {
    if (!node.domain.empty() || node.op != "Add") continue;
    ValueId product = kAbsent, bias = kAbsent;
    if (!pattern.either(
            node, [&](ValueId id) { return pattern.only_maker(id, "MatMul") != nullptr; }, product, bias))
      continue;
    Node* matmul = pattern.only_maker(product, "MatMul");
    const Value *weight = graph.constant(matmul->inputs[1]), *vector = graph.constant(bias);
    if (!weight || !vector || matmul->inputs.size() != 2 || weight->type() != ElementType::kF32 ||
        vector->type() != ElementType::kF32)
      continue;
    if (weight->shape().rank() != 2 || vector->shape() != Shape{weight->shape()[1]}) continue;
    const std::vector<ValueId> inputs{matmul->inputs[0], matmul->inputs[1], bias};
    pattern.drop(matmul);
    pattern.become(node, "MatMul", inputs, {}, matmul->opset);
  }
  pattern.remove_dropped();
}

}  // namespace wick::graph
