#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/ir.h"

namespace wick::graph {

class Frame;

// One run of one node, as its operator sees it. Whatever is wrong is an Error without the node's name: who runs it
// puts that before.
class OpRun {
 public:
  OpRun(const Node& node, Frame& frame) : node_(node), frame_(frame), outputs_(node.outputs.size()) {}

  const Node& node() const { return node_; }
  int opset() const { return node_.opset; }
  Frame& frame() { return frame_; }

  int input_count() const { return static_cast<int>(node_.inputs.size()); }
  int output_count() const { return static_cast<int>(node_.outputs.size()); }
  bool has(int input) const { return input < input_count() && node_.inputs[input] != kAbsent; }
  bool wants(int output) const { return output < output_count() && node_.outputs[output] != kAbsent; }
  bool is_constant(int input) const;       // the same in every run
  const Value& in(int input) const;        // throws Error when it is left out
  const Tensor& tensor(int input) const;   // of numbers
  Tensor tensor_or_none(int input) const;  // undefined when it is left out
  ElementType type(int input) const { return in(input).type(); }
  std::vector<int64_t> ints(int input) const;  // a tensor of a few whole numbers
  int64_t int_at(int input) const;             // of one
  double number_at(int input) const;
  const Strings& strings(int input) const;

  int64_t get(std::string_view attribute, int64_t otherwise) const;
  float get(std::string_view attribute, float otherwise) const;
  std::string get(std::string_view attribute, const char* otherwise) const;
  std::vector<int64_t> ints(std::string_view attribute) const;  // empty when it is left out
  std::vector<float> floats(std::string_view attribute) const;
  bool has(std::string_view attribute) const { return node_.find(attribute) != nullptr; }
  int64_t needed(std::string_view attribute) const;  // throws Error when it is left out
  const Graph& body(std::string_view attribute) const;

  void set(int output, Value value);
  void set(int output, Tensor tensor) { set(output, Value(std::move(tensor))); }
  void set(int output, Tensor tensor, ElementType type) { set(output, Value(std::move(tensor), type)); }
  std::vector<Value>& outputs() { return outputs_; }

  // What an operator makes of constants once and keeps. `Made` has a default constructor.
  template <typename Made>
  Made& prepared() {
    auto& place = const_cast<Node&>(node_).prepared;
    if (!place) place = std::make_shared<Made>();
    return *static_cast<Made*>(place.get());
  }

 private:
  const Node& node_;
  Frame& frame_;
  std::vector<Value> outputs_;
};

using OperatorFn = void (*)(OpRun& run);

// `attributes`: all that it knows, with spaces between; a node with another one is refused.
struct Operator {
  std::string_view name;
  OperatorFn run;
  std::string_view attributes = "";
  bool is_random = false;  // or has bodies: never computed ahead
};

using Operators = std::span<const Operator>;

// By family, one file each in graph/operators/.
Operators activation_operators();
Operators attention_operators();
Operators control_operators();
Operators convolution_operators();
Operators elementwise_operators();
Operators index_operators();
Operators learning_operators();
Operators matmul_operators();
Operators norm_operators();
Operators pool_operators();
Operators quantised_operators();
Operators random_operators();
Operators recurrent_operators();
Operators reduce_operators();
Operators resize_operators();
Operators sequence_operators();
Operators shape_operators();
Operators signal_operators();
Operators text_operators();
Operators vision_operators();
Operators learning_preview_operators();  // ai.onnx.preview.training
Operators classic_operators();           // ai.onnx.ml
Operators microsoft_operators();         // com.microsoft

// Null: there is none.
const Operator* find_operator(std::string_view domain, std::string_view name);
std::vector<const Operator*> all_operators(std::string_view domain);
// Gives nodes their operators, in subgraphs too. `problems`: a sentence for each node that has none or has an
// attribute that it does not know.
void bind_operators(Graph& graph, std::vector<std::string>& problems);

}  // namespace wick::graph
