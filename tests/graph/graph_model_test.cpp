// Graphs put together by hand: names, shapes, functions, files beside the model, passes, hooks, memory.
#include "graph/graph_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "graph/value_file.h"
#include "ops/binary.h"
#include "ops/layers/matmul.h"
#include "ops/layers/norm.h"
#include "ops/layers/scaled_dot_product_attention.h"
#include "ops/unary.h"
#include "ops/view.h"
#include "support/errors.h"
#include "support/file_bytes.h"
#include "support/onnx_builder.h"
#include "support/temp_folder.h"
#include "tensor/create.h"

namespace wick::graph {
namespace {

namespace fs = std::filesystem;
using onnx_file::Attr;
using onnx_file::GraphText;

std::unique_ptr<GraphModel> load(const std::string& file, const GraphOptions& options = {}) {
  return GraphModel::read(file_in_memory(file, "x.onnx"), options);
}
GraphOptions plain() {
  GraphOptions options;
  options.optimize = false;
  return options;
}
std::vector<float> floats(const NamedValues& values, const std::string& name) {
  return values.at(name).tensor().to_vector<float>();
}

TEST(GraphModel, RunsNodesInAnyOrderOfTheFile) {
  const std::string file = GraphText()
                               .input("x", {-1, 3})
                               .node("Mul", {"sum", "x"}, {"y"})
                               .node("Add", {"x", "one"}, {"sum"})
                               .constant("one", tensor({1.f, 2.f, 3.f}))
                               .output("y", {-1, 3})
                               .model();
  const auto model = load(file);
  for (const int64_t rows : {1, 2, 5}) {  // shapes are found while it runs
    const Tensor x = randn({rows, 3}, 7);
    const auto y = model->run({{"x", x}});
    EXPECT_EQ(floats(y, "y"), mul(add(x, tensor({1.f, 2.f, 3.f})), x).to_vector<float>());
  }
}

TEST(GraphModel, ChecksItsInputs) {
  const auto model = load(
      GraphText().input("a", {2, -3}).input("b", {2, -3}).node("Add", {"a", "b"}, {"y"}).output("y", {2, -3}).model());
  EXPECT_ERROR(model->run({{"a", zeros({2, 1})}}), kInvalidArgument, "input 'b' (f32 [2, d3]) is missing");
  EXPECT_ERROR(model->run({{"a", zeros({3, 1})}, {"b", zeros({2, 1})}}), kInvalidArgument,
               "input 'a' is f32 [3, 1], the graph takes f32 [2, d3]");
  EXPECT_ERROR(model->run({{"a", zeros({2, 1}, DType::kI64)}, {"b", zeros({2, 1})}}), kInvalidArgument,
               "input 'a' is i64 [2, 1]");
  EXPECT_ERROR(model->run({{"a", zeros({2, 4})}, {"b", zeros({2, 1})}}), kInvalidArgument, "'d3' is 4 elsewhere");
  EXPECT_ERROR(model->run({{"a", zeros({2, 4})}, {"b", zeros({2, 4})}, {"c", zeros({1})}}), kInvalidArgument,
               "the graph has no input 'c'");
}

TEST(GraphModel, LoopsAndBranchesSeeWhatIsAroundThem) {
  // Adds x to itself as often as `count` says; then a branch that captures from two graphs further out.
  const std::string body =
      GraphText()
          .input("i", {}, onnx_file::kI64)
          .input("go", {}, onnx_file::kBool)
          .input("state", {2})
          .node("Add", {"state", "x"}, {"next"})
          .node("Identity", {"go"}, {"go_on"})
          .node("If", {"flag"}, {"seen"},
                {{"then_branch", {}, GraphText().node("Mul", {"next", "x"}, {"t"}).output("t", {2}).text()},
                 {"else_branch", {}, GraphText().node("Neg", {"next"}, {"e"}).output("e", {2}).text()}})
          .output("go_on", {}, onnx_file::kBool)
          .output("next", {2})
          .output("seen", {2})
          .text();
  const auto model = load(GraphText()
                              .input("x", {2})
                              .input("count", {}, onnx_file::kI64)
                              .input("flag", {}, onnx_file::kBool)
                              .constant("start", tensor({0.f, 0.f}))
                              .node("Loop", {"count", "", "start"}, {"last", "all"}, {{"body", {}, body}})
                              .output("last", {2})
                              .output("all", {-1, 2})
                              .model());
  for (const bool flag : {true, false}) {
    const auto y = model->run({{"x", tensor({2.f, 3.f})},
                               {"count", scalar(3, DType::kI64)},
                               {"flag", Value(full(Shape{}, flag, DType::kU8), ElementType::kBool)}});
    EXPECT_EQ(floats(y, "last"), (std::vector<float>{6, 9}));
    EXPECT_EQ(floats(y, "all"),
              flag ? (std::vector<float>{4, 9, 8, 18, 12, 27}) : (std::vector<float>{-2, -3, -4, -6, -6, -9}));
  }
}

TEST(GraphModel, ExpandsFunctions) {
  using onnx_file::function;
  using onnx_file::node;
  // twice(x; factor) = (x + x) * factor; outer(x) calls it two times.
  const std::string twice =
      function("twice", {"x"}, {"y"},
               {node("Add", {"x", "x"}, {"t"}), node("Constant", {}, {"f"}, {{"value_float", {}, "", "factor"}}),
                node("Mul", {"t", "f"}, {"y"})},
               {"factor"});
  const std::string outer = function("outer", {"t"}, {"r"},
                                     {node("twice", {"t"}, {"a"}, {{"factor", 3.0f}}, "local"),
                                      node("twice", {"a"}, {"r"}, {{"factor", 0.5f}}, "local")});
  const auto model = load(
      GraphText().input("x", {2}).node("outer", {"x"}, {"y"}, {}, "local").output("y", {2}).model(17, {twice, outer}));
  EXPECT_EQ(floats(model->run({{"x", tensor({1.f, 2.f})}}), "y"), (std::vector<float>{6, 12}));
  const std::string loop = function("loop", {"x"}, {"y"}, {node("loop", {"x"}, {"y"}, {}, "local")});
  EXPECT_ERROR(
      load(GraphText().input("x", {2}).node("loop", {"x"}, {"y"}, {}, "local").output("y", {2}).model(17, {loop})),
      kBadFile, "deeper than");
  // Each function calls the one before twice: 2^40 nodes.
  std::vector<std::string> bomb{function("f0", {"x"}, {"y"}, {node("Neg", {"x"}, {"y"})})};
  for (int i = 1; i < 24; ++i) {
    const std::string before = cat("f", i - 1);
    bomb.push_back(function(cat("f", i), {"x"}, {"y"},
                            {node(before, {"x"}, {"t"}, {}, "local"), node(before, {"t"}, {"y"}, {}, "local")}));
  }
  EXPECT_ERROR(
      load(GraphText().input("x", {2}).node("f23", {"x"}, {"y"}, {}, "local").output("y", {2}).model(17, bomb)),
      kBadFile, "the graph has more than");
}

TEST(GraphModel, ReadsFilesBesideTheModel) {
  const TempFolder folder;
  const Tensor w = randn({4, 3}, 1), b = randn({3}, 2);
  std::ofstream(folder.path() / "weights.bin", std::ios::binary) << onnx_file::raw(w) << onnx_file::raw(b);
  const auto file = [&](const std::string& place, int64_t at, int64_t length = 12) {
    return GraphText()
        .input("x", {1, 4})
        .constant_text(onnx_file::external("w", {4, 3}, onnx_file::kF32, "weights.bin", 0, 48))
        .constant_text(onnx_file::external("b", {3}, onnx_file::kF32, place, at, length))
        .node("Gemm", {"x", "w", "b"}, {"y"})
        .output("y", {1, 3})
        .model();
  };
  const auto open = [&](const std::string& bytes) {
    std::ofstream(folder.path() / "m.onnx", std::ios::binary) << bytes;
    return GraphModel::open(folder.path() / "m.onnx");
  };
  const Tensor x = randn({1, 4}, 3);
  const auto model = open(file("weights.bin", 48));
  EXPECT_EQ(floats(model->run({{"x", x}}), "y"), add(matmul(x, w), b).to_vector<float>());
  EXPECT_EQ(model->imported().copied_bytes, 0);  // they stay in the file
  EXPECT_ERROR(open(file("weights.bin", 44)), kBadFile, "tensors 'w' and 'b' share bytes of 'weights.bin'");
  EXPECT_ERROR(open(file("weights.bin", 52)), kBadFile,
               "tensor 'b' needs 12 bytes at byte 52 of 'weights.bin', which has 60");
  EXPECT_ERROR(open(file("weights.bin", 48, 8)), kBadFile, "tensor 'b' takes 12 bytes, but has 8");
  EXPECT_ERROR(open(file("weights.bin", -4)), kBadFile, "its offset is '-4'");
  EXPECT_ERROR(open(file("missing.bin", 0)), kIo, "which is not there");
  for (const char* place : {"../weights.bin", "/etc/passwd", "", "a/../../weights.bin", "."}) {
    EXPECT_ERROR(open(file(place, 0)), kBadFile, "tensor 'b' is in");
  }
  const TempFolder outside;
  std::ofstream(outside.path() / "secret", std::ios::binary) << "0123456789abcdef";
  fs::create_symlink(outside.path() / "secret", folder.path() / "link.bin");
  EXPECT_ERROR(open(file("link.bin", 0)), kBadFile, "a link that leads out of the model's folder");
  // A cache of models is links to files that lie side by side.
  fs::copy_file(folder.path() / "weights.bin", outside.path() / "blob2");
  std::ofstream(outside.path() / "blob1", std::ios::binary) << file("weights.bin", 48);
  const TempFolder cache;
  fs::create_symlink(outside.path() / "blob1", cache.path() / "m.onnx");
  fs::create_symlink(outside.path() / "blob2", cache.path() / "weights.bin");
  EXPECT_EQ(floats(GraphModel::open(cache.path() / "m.onnx")->run({{"x", x}}), "y"),
            floats(model->run({{"x", x}}), "y"));
}

TEST(GraphModel, ValuesCanBeWatchedAndReplaced) {
  const std::string file = GraphText()
                               .input("x", {3})
                               .node("Neg", {"x"}, {"middle"})
                               .node("Relu", {"middle"}, {"y"})
                               .output("y", {3})
                               .model();
  GraphOptions options;
  options.keep = {"middle"};
  const auto model = load(file, options);
  std::vector<float> seen;
  RunOptions run;
  run.hook = [&](const std::string& name, Value& value) {
    if (name == "middle") seen = value.tensor().to_vector<float>();
  };
  const Tensor x = tensor({1.f, -2.f, 3.f});
  EXPECT_EQ(floats(model->run({{"x", x}}, run), "y"), (std::vector<float>{0, 2, 0}));
  EXPECT_EQ(seen, (std::vector<float>{-1, 2, -3}));
  run.hook = [&](const std::string& name, Value& value) {
    if (name == "middle") value = tensor({5.f, 6.f, -7.f});
  };
  EXPECT_EQ(floats(model->run({{"x", x}}, run), "y"), (std::vector<float>{5, 6, 0}));
}

// A chain of 40 tensors of 1 MB: values go when nobody needs them any more, and their memory is used again.
TEST(GraphModel, ReusesMemory) {
  GraphText text;
  text.input("v0", {512, 512});
  for (int i = 0; i < 40; ++i) text.node("Sin", {cat("v", i)}, {cat("v", i + 1)});
  const auto model = load(text.output("v40", {512, 512}).model());
  const Tensor x = randn({512, 512}, 1);
  Tensor expected = x;
  for (int i = 0; i < 40; ++i) expected = sin(expected);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(floats(model->run({{"v0", x}}), "v40"), expected.to_vector<float>());
    EXPECT_LE(model->most_bytes(), 3 << 20);
  }
}

// Fusing changes how a graph is computed, not what comes out.
TEST(GraphModel, FusedGraphsGiveTheSame) {
  const auto constant = [](const Shape& shape, uint64_t seed) { return mul(randn(shape, seed), 0.3); };
  GraphText encoder;
  encoder.input("x", {-1, 5, 8})
      .input("mask", {-1, 1, 1, 5})
      .constant("wq", constant({8, 8}, 1))
      .constant("bq", constant({8}, 2))
      .constant("wk", constant({8, 8}, 3))
      .constant("wv", constant({8, 8}, 4))
      .constant("scale", constant({8}, 5))
      .constant("shift", constant({8}, 6))
      .constant("w1", constant({8, 12}, 7))
      .constant("b1", constant({12}, 8))
      .constant("w2", constant({12, 8}, 9))
      .constant("heads", tensor<int64_t>({0, 0, 2, 4}))
      .constant("flat", tensor<int64_t>({0, 0, 8}))
      .constant("root", scalar(2))
      .constant("two", scalar(2))
      .constant("half", scalar(0.5))
      .constant("one", scalar(1))
      .constant("root2", scalar(std::sqrt(2.0)))
      .constant("eps", scalar(1e-5));
  const auto project = [&](const std::string& name, const std::string& weight, const std::vector<int64_t>& order) {
    encoder.node("MatMul", {"x", weight}, {cat(name, "0")});
    const bool biased = name == "q";
    if (biased) encoder.node("Add", {"q0", "bq"}, {"q1"});
    encoder.node("Reshape", {biased ? "q1" : cat(name, "0"), "heads"}, {cat(name, "2")});
    encoder.node("Transpose", {cat(name, "2")}, {name}, {{"perm", order}});
  };
  project("q", "wq", {0, 2, 1, 3});
  project("k", "wk", {0, 2, 3, 1});
  project("v", "wv", {0, 2, 1, 3});
  encoder.node("MatMul", {"q", "k"}, {"s0"})
      .node("Div", {"s0", "root"}, {"s1"})
      .node("Add", {"s1", "mask"}, {"s2"})
      .node("Softmax", {"s2"}, {"p"}, {{"axis", int64_t{-1}}})
      .node("MatMul", {"p", "v"}, {"a0"})
      .node("Transpose", {"a0"}, {"a1"}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}})
      .node("Reshape", {"a1", "flat"}, {"a"})
      .node("Add", {"a", "x"}, {"r"})
      .node("ReduceMean", {"r"}, {"m"}, {{"axes", std::vector<int64_t>{-1}}})
      .node("Sub", {"r", "m"}, {"d"})
      .node("Pow", {"d", "two"}, {"d2"})
      .node("ReduceMean", {"d2"}, {"var"}, {{"axes", std::vector<int64_t>{-1}}})
      .node("Add", {"var", "eps"}, {"ve"})
      .node("Sqrt", {"ve"}, {"sd"})
      .node("Div", {"d", "sd"}, {"n0"})
      .node("Mul", {"n0", "scale"}, {"n1"})
      .node("Add", {"n1", "shift"}, {"n"})
      .node("MatMul", {"n", "w1"}, {"h0"})
      .node("Add", {"b1", "h0"}, {"h1"})
      .node("Div", {"h1", "root2"}, {"g0"})
      .node("Erf", {"g0"}, {"g1"})
      .node("Add", {"g1", "one"}, {"g2"})
      .node("Mul", {"h1", "g2"}, {"g3"})
      .node("Mul", {"g3", "half"}, {"g"})
      .node("MatMul", {"g", "w2"}, {"y"})
      .output("y", {-1, 5, 8});
  const auto fused = load(encoder.model(13)), unfused = load(encoder.model(13), plain());
  const auto count = [](const GraphModel& model, const std::string& op) {
    return std::count_if(model.graph().nodes.begin(), model.graph().nodes.end(),
                         [&](const Node& node) { return node.op == op; });
  };
  for (const char* op : {"Attention", "LayerNormalization"}) EXPECT_EQ(count(*fused, op), 1) << op;
  for (const char* op : {"Softmax", "Erf", "Sqrt", "Div", "Gelu"}) EXPECT_EQ(count(*fused, op), 0) << op;
  for (const int64_t batch : {1, 3}) {
    const Tensor mask = from_vector(std::vector<float>(static_cast<size_t>(5 * batch), 0), {batch, 1, 1, 5});
    mask.mutable_data<float>()[2] = -1e4f;
    const NamedValues inputs{{"x", randn({batch, 5, 8}, 11)}, {"mask", mask}};
    EXPECT_EQ(difference(fused->run(inputs).at("y"), unfused->run(inputs).at("y"), {1e-4, 1e-5}), "");
  }
  // Convolution, batch norm and what follows.
  GraphText image;
  image.input("x", {1, 3, 9, 7})
      .constant("w", constant({4, 3, 3, 3}, 1))
      .constant("b", constant({4}, 2))
      .constant("s", add(constant({4}, 3), 1))
      .constant("t", constant({4}, 4))
      .constant("mean", constant({4}, 5))
      .constant("var", rand({4}, 6))
      .constant("low", scalar(0))
      .constant("high", scalar(1))
      .node("Conv", {"x", "w", "b"}, {"c"}, {{"pads", std::vector<int64_t>{1, 0, 2, 1}}})
      .node("BatchNormalization", {"c", "s", "t", "mean", "var"}, {"n"})
      .node("Relu", {"n"}, {"r"})
      .node("Conv", {"x", "w"}, {"c2"}, {{"strides", std::vector<int64_t>{2, 2}}})
      .node("Clip", {"c2", "low", "high"}, {"y2"})
      .output("r", {1, 4, 10, 6})
      .output("y2", {1, 4, 4, 3});
  const auto quick = load(image.model(13)), slow = load(image.model(13), plain());
  EXPECT_EQ(quick->graph().nodes.size(), 2U);
  const NamedValues inputs{{"x", randn({1, 3, 9, 7}, 12)}};
  for (const char* name : {"r", "y2"})
    EXPECT_EQ(difference(quick->run(inputs).at(name), slow->run(inputs).at(name), {1e-4, 1e-5}), "");
}

TEST(GraphModel, ConstantsAreFoldedAndBombsAreNot) {
  const auto model = load(GraphText()
                              .input("x", {2})
                              .constant("big", tensor<int64_t>({1 << 20, 1 << 10}))
                              .constant("a", tensor({1.f, 2.f}))
                              .node("Add", {"a", "a"}, {"b"})
                              .node("ConstantOfShape", {"big"}, {"bomb"})
                              .node("ReduceSum", {"bomb"}, {"s"}, {{"keepdims", int64_t{0}}})
                              .node("Add", {"x", "b"}, {"y"})
                              .node("Add", {"x", "s"}, {"z"})
                              .output("y", {2})
                              .model());
  EXPECT_EQ(model->graph().nodes.size(), 1U);
  EXPECT_EQ(floats(model->run({{"x", tensor({1.f, 1.f})}}), "y"), (std::vector<float>{3, 5}));
}

}  // namespace
}  // namespace wick::graph
