#include "fuzz/onnx_harness.h"

#include <algorithm>
#include <cstdlib>

#include "graph/graph_model.h"
#include "support/onnx_builder.h"
#include "tensor/create.h"

namespace wick {
namespace {

using onnx_file::GraphText;

graph::Value input_for(const graph::ValueType& type) {
  if (type.optional || type.kind != graph::Value::Kind::kTensor) return {};
  std::vector<int64_t> sizes;
  for (const int64_t size : type.dims) sizes.push_back(size < 0 ? 2 : std::min<int64_t>(size, 1 << 12));
  const Shape shape{std::span<const int64_t>(sizes)};
  if (shape.numel() > 1 << 16) throw Error(ErrorCode::kShape, "an input is too large for the fuzzer");
  return {ones(shape, storage_of(type.element)), type.element};
}

}  // namespace

bool fuzz_onnx(std::span<const std::byte> bytes) {
  const std::shared_ptr<std::byte[]> copy(new std::byte[bytes.size()]);
  std::copy(bytes.begin(), bytes.end(), copy.get());
  const auto file = MappedFile::in_memory("fuzz", {copy.get(), bytes.size()}, copy);
  bool ran = false;
  for (const bool optimize : {true, false}) {
    try {
      graph::GraphOptions options;
      options.memory_limit = 8 << 20;
      options.optimize = optimize;
      const auto model = graph::GraphModel::read(file, options);
      graph::NamedValues inputs;
      for (const graph::Port& port : model->inputs()) inputs[port.name] = input_for(port.type);
      graph::RunOptions run;
      run.max_steps = 500;
      model->run(inputs, run);
      ran = true;
    } catch (const Error& error) {
      if (*error.what() == '\0') std::abort();
    }
  }
  return ran;
}

std::vector<std::string> onnx_seeds() {
  using Ints = std::vector<int64_t>;
  std::vector<std::string> seeds;
  const auto body = GraphText()
                        .input("i", {}, onnx_file::kI64)
                        .input("go", {}, onnx_file::kBool)
                        .input("s", {2, 3})
                        .node("Add", {"s", "x"}, {"n"})
                        .node("Identity", {"go"}, {"on"})
                        .output("on", {}, onnx_file::kBool)
                        .output("n", {2, 3})
                        .output("n", {2, 3})
                        .text();
  const auto branch = [](const char* op) { return GraphText().node(op, {"x"}, {"b"}).output("b", {2, 3}).text(); };
  seeds.push_back(
      GraphText()
          .input("x", {2, 3})
          .input("c", {}, onnx_file::kBool)
          .constant("n", scalar(3, DType::kI64))
          .node("Loop", {"n", "c", "x"}, {"a", "all"}, {{"body", {}, body}})
          .node("If", {"c"}, {"z"}, {{"then_branch", {}, branch("Neg")}, {"else_branch", {}, branch("Relu")}})
          .node("Add", {"a", "z"}, {"y"})
          .output("y", {2, 3})
          .output("all", {-1, 2, 3})
          .model());
  seeds.push_back(GraphText()
                      .input("x", {1, 2, 6, 6})
                      .constant("w", randn({3, 2, 3, 3}, 1))
                      .constant("b", randn({3}, 2))
                      .node("Conv", {"x", "w", "b"}, {"c"}, {{"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 1}}})
                      .node("Relu", {"c"}, {"r"})
                      .node("MaxPool", {"r"}, {"m"}, {{"kernel_shape", Ints{2, 2}}, {"ceil_mode", int64_t{1}}})
                      .node("ConvTranspose", {"m", "w"}, {"t"})
                      .node("GlobalAveragePool", {"t"}, {"g"})
                      .node("Flatten", {"g"}, {"y"})
                      .output("y", {1, 2})
                      .model());
  seeds.push_back(GraphText()
                      .input("x", {1, 4, 8})
                      .constant("w", randn({8, 8}, 1))
                      .constant("s", randn({8}, 2))
                      .constant("shape", tensor<int64_t>({0, 0, 2, -1}))
                      .node("LayerNormalization", {"x", "s", "s"}, {"n"})
                      .node("MatMul", {"n", "w"}, {"m"})
                      .node("Reshape", {"m", "shape"}, {"h"})
                      .node("Transpose", {"h"}, {"q"}, {{"perm", Ints{0, 2, 1, 3}}})
                      .node("Transpose", {"h"}, {"k"}, {{"perm", Ints{0, 2, 3, 1}}})
                      .node("MatMul", {"q", "k"}, {"sc"})
                      .node("Softmax", {"sc"}, {"p"}, {{"axis", int64_t{-1}}})
                      .node("MatMul", {"p", "q"}, {"y"})
                      .output("y", {1, 2, 4, 4})
                      .model());
  seeds.push_back(GraphText()
                      .input("x", {3, 4})
                      .constant("i", tensor<int64_t>({2, -1}))
                      .constant("st", tensor<int64_t>({0, -1}))
                      .constant("en", tensor<int64_t>({3, -9}))
                      .constant("ax", tensor<int64_t>({0, 1}))
                      .constant("sp", tensor<int64_t>({1, -1}))
                      .constant("rep", tensor<int64_t>({2, 1}))
                      .constant("k", tensor<int64_t>({2}))
                      .node("Gather", {"x", "i"}, {"g"}, {{"axis", int64_t{1}}})
                      .node("Slice", {"x", "st", "en", "ax", "sp"}, {"s"})
                      .node("Tile", {"s", "rep"}, {"t"})
                      .node("TopK", {"t", "k"}, {"v", "at"})
                      .node("ReduceSum", {"v"}, {"r"})
                      .node("Einsum", {"x", "x"}, {"e"}, {{"equation", std::string("ij,kj->ik")}})
                      .node("Concat", {"g", "v"}, {"y"}, {{"axis", int64_t{0}}})
                      .node("SequenceConstruct", {"x", "g"}, {"q"})
                      .node("SequenceAt", {"q", "zero"}, {"u"})
                      .constant("zero", scalar(0, DType::kI64))
                      .output("y", {-1, 2})
                      .output("r", {1, 1})
                      .output("e", {3, 3})
                      .output("u", {3, 4})
                      .model());
  const auto function = onnx_file::function("f", {"a"}, {"b"},
                                            {onnx_file::node("Mul", {"a", "a"}, {"t"}),
                                             onnx_file::node("LeakyRelu", {"t"}, {"b"}, {{"alpha", {}, "", "alpha"}})},
                                            {"alpha"});
  seeds.push_back(GraphText()
                      .input("x", {2, 4})
                      .constant("w", zeros({4, 3}, DType::kU8))
                      .constant("z", scalar(3, DType::kU8))
                      .node("f", {"x"}, {"h"}, {{"alpha", 0.5f}}, "local")
                      .node("DynamicQuantizeLinear", {"h"}, {"q", "qs", "qz"})
                      .node("MatMulInteger", {"q", "w", "qz", "z"}, {"m"})
                      .node("Cast", {"m"}, {"y"}, {{"to", int64_t{1}}})
                      .output("y", {2, 3})
                      .model(17, {function}));
  seeds.push_back(GraphText()
                      .input("x", {4, 1, 3})
                      .constant("w", randn({1, 20, 3}, 1))
                      .constant("r", randn({1, 20, 5}, 2))
                      .node("LSTM", {"x", "w", "r"}, {"a", "h", "c"}, {{"hidden_size", int64_t{5}}})
                      .constant("sc", tensor({1.f, 1.f, 2.f, 1.5f}))
                      .node("Resize", {"a", "", "sc"}, {"y"}, {{"mode", std::string("linear")}})
                      .output("y", {4, 1, 2, 7})
                      .model());
  return seeds;
}

}  // namespace wick
