// Graphs that are wrong, or ask for more than there is: a sentence that names the node, never more than the limit.
#include <gtest/gtest.h>

#include <random>

#include "fuzz/onnx_harness.h"
#include "graph/graph_model.h"
#include "support/errors.h"
#include "support/file_bytes.h"
#include "support/onnx_builder.h"
#include "tensor/create.h"

namespace wick::graph {
namespace {

using onnx_file::GraphText;

constexpr int64_t kLimit = int64_t{64} << 20;

std::unique_ptr<GraphModel> load(const std::string& file, bool optimize = true) {
  GraphOptions options;
  options.memory_limit = kLimit;
  options.optimize = optimize;
  return GraphModel::read(file_in_memory(file, "x.onnx"), options);
}

TEST(HostileGraphs, NamesThatDoNotFit) {
  const auto with = [](const auto& change) {
    GraphText text;
    text.input("x", {2});
    change(text);
    return text.output("y", {2}).model();
  };
  EXPECT_ERROR(load(with([](GraphText& t) {
                 t.node("Add", {"x", "b"}, {"a"}).node("Neg", {"a"}, {"b"}).node("Neg", {"b"}, {"y"});
               })),
               kBadFile, "x.onnx: node 'n_a' (Add) is on a cycle");
  EXPECT_ERROR(load(with([](GraphText& t) {
                 t.node("Add", {"x", "nobody"}, {"y"});
               })),
               kBadFile, "node 'n_y' (Add): its input 'nobody' is given by no node");
  EXPECT_ERROR(load(with([](GraphText& t) { t.node("Neg", {"x"}, {"z"}); })), kBadFile,
               "the graph's output 'y' is given by no node");
  EXPECT_ERROR(load(with([](GraphText& t) { t.node("Neg", {"x"}, {"y"}).node("Neg", {"x"}, {"y"}); })), kBadFile,
               "gives 'y', which is there already");
  EXPECT_ERROR(load(with([](GraphText& t) { t.node("Neg", {"x"}, {"x"}); })), kBadFile,
               "gives 'x', which is there already");
  EXPECT_ERROR(load(with([](GraphText& t) { t.node("Telepathy", {"x"}, {"y"}); })), kUnsupported,
               "node 'n_y' (Telepathy): Wick has no operator of this name");
  EXPECT_ERROR(load(with([](GraphText& t) { t.node("Neg", {"x"}, {"y"}, {}, "com.example"); })), kUnsupported,
               "(com.example.Neg): Wick has no operator");
  EXPECT_ERROR(load(with([](GraphText& t) {
                 t.node("Neg", {"x"}, {"y"}, {{"strength", int64_t{3}}});
               })),
               kUnsupported, "attribute 'strength' is not known");
  EXPECT_ERROR(load(GraphText().input("x", {2}).node("Neg", {"x"}, {"y"}).output("y", {2}).model(400)), kUnsupported,
               "opset 400 of ai.onnx");
}

TEST(HostileGraphs, MissingInputsAndLies) {
  const auto run = [](GraphText text, const NamedValues& inputs) {
    return load(text.output("y", {2}).model())->run(inputs);
  };
  const NamedValues x{{"x", zeros({2, 3})}};
  const auto with = [] { return GraphText().input("x", {2, 3}); };
  EXPECT_ERROR(run(with().node("Add", {"x"}, {"y"}), x), kBadFile, "node 'n_y' (Add): input 2 is missing");
  EXPECT_ERROR(run(with().node("Gather", {"x", "x"}, {"y"}), x), kDType, "node 'n_y' (Gather): indices are f32 [2, 3]");
  EXPECT_ERROR(run(with().constant("i", tensor<int64_t>({9})).node("Gather", {"x", "i"}, {"y"}), x), kInvalidArgument,
               "(Gather): index 9 for a dimension of size 2");
  EXPECT_ERROR(run(with().constant("w", zeros({4, 2})).node("MatMul", {"x", "w"}, {"y"}), x), kShape, "(MatMul): ");
  EXPECT_ERROR(run(with().constant("i", tensor<int64_t>({1})).node("Add", {"x", "i"}, {"y"}), x), kDType,
               "(Add): inputs are f32 [2, 3] and i64 [1]");
  EXPECT_ERROR(run(with().node("Conv", {"x", "x"}, {"y"}), x), kShape, "(Conv): weight [2, 3] has no kernel");
  EXPECT_ERROR(run(with().node("Transpose", {"x"}, {"y"}, {{"perm", std::vector<int64_t>{0, 0}}}), x), kInvalidArgument,
               "(Transpose): permute: dimension 0 is given twice");
  EXPECT_ERROR(run(with().node("SequenceLength", {"x"}, {"y"}), x), kDType, "expected a sequence");
  EXPECT_ERROR(run(with().node("Softmax", {"x"}, {"y"}, {{"axis", int64_t{5}}}), x), kInvalidArgument,
               "axis 5 of a tensor of rank 2");
  EXPECT_ERROR(run(with().node("If", {"x"}, {"y"}), x), kDType, "(If): a condition is f32 [2, 3]");
  EXPECT_ERROR(run(with().node("Slice", {"x"}, {"y"}, {{"starts", std::vector<int64_t>{0}}}), x), kInvalidArgument,
               "(Slice): 1 starts, 0 ends");
}

TEST(HostileGraphs, BombsStayUnderTheLimit) {
  const auto run = [](GraphText text, bool optimize) {
    return load(text.output("y", {-1}).model(), optimize)->run({{"x", zeros({1})}});
  };
  const auto with = [] { return GraphText().input("x", {1}); };
  const Tensor huge = tensor<int64_t>({int64_t{1} << 40}), large = tensor<int64_t>({1 << 15, 1 << 15});
  for (const bool optimize : {true, false}) {
    SCOPED_TRACE(optimize);
    EXPECT_ERROR(run(with().constant("n", huge).node("Tile", {"x", "n"}, {"y"}), optimize), kOutOfMemory,
                 "node 'n_y' (Tile): ");
    EXPECT_ERROR(run(with().constant("n", huge).node("Expand", {"x", "n"}, {"y"}), optimize), kOutOfMemory,
                 "node 'n_y' (Expand): output 1 is f32 [1099511627776], which takes");
    EXPECT_ERROR(
        run(with().constant("n", large).node("ConstantOfShape", {"n"}, {"z"}).node("Add", {"x", "z"}, {"y"}), optimize),
        kOutOfMemory, "(ConstantOfShape): ");
    EXPECT_ERROR(run(with()
                         .constant("a", scalar(0))
                         .constant("b", scalar(1e14))
                         .constant("c", scalar(1))
                         .node("Range", {"a", "b", "c"}, {"z"})
                         .node("Add", {"x", "z"}, {"y"}),
                     optimize),
                 kOutOfMemory, "(Range): ");
    EXPECT_ERROR(
        run(with().constant("p", tensor<int64_t>({int64_t{1} << 40, 0})).node("Pad", {"x", "p"}, {"y"}), optimize),
        kOutOfMemory, "(Pad): ");
    EXPECT_ERROR(run(with()
                         .constant("d", scalar(1e12))
                         .constant("v", tensor({0.f, 1.f}))
                         .node("Cast", {"x"}, {"i"}, {{"to", int64_t{7}}})
                         .node("OneHot", {"i", "d", "v"}, {"y"}),
                     optimize),
                 kOutOfMemory, "(OneHot): ");
    EXPECT_ERROR(run(with()
                         .constant("n", tensor<int64_t>({INT64_MAX}))
                         .node("Tile", {"x", "n"}, {"t"})
                         .node("Tile", {"t", "n"}, {"y"}),
                     optimize),
                 kOutOfMemory, "(Tile): ");
    EXPECT_ERROR(run(with()
                         .constant("n", tensor<int64_t>({int64_t{1} << 62, 8}))
                         .node("ConstantOfShape", {"n"}, {"z"})
                         .node("Add", {"x", "z"}, {"y"}),
                     optimize),
                 kShape, "(ConstantOfShape): ");
    EXPECT_ERROR(run(with().constant("n", tensor<int64_t>({-5})).node("Expand", {"x", "n"}, {"y"}), optimize), kShape,
                 "(Expand): ");
  }
  // Growing by doubling in a loop.
  const std::string body = GraphText()
                               .input("i", {}, onnx_file::kI64)
                               .input("go", {}, onnx_file::kBool)
                               .input("s", {-1})
                               .node("Concat", {"s", "s"}, {"d"}, {{"axis", int64_t{0}}})
                               .node("Identity", {"go"}, {"on"})
                               .output("on", {}, onnx_file::kBool)
                               .output("d", {-1})
                               .text();
  EXPECT_ERROR(
      run(with().constant("n", scalar(60, DType::kI64)).node("Loop", {"n", "", "x"}, {"y"}, {{"body", {}, body}}),
          true),
      kOutOfMemory, "node 'n_d' (Concat): ");
  // Going round for ever.
  const std::string idle = GraphText()
                               .input("i", {}, onnx_file::kI64)
                               .input("go", {}, onnx_file::kBool)
                               .input("s", {-1})
                               .output("go", {}, onnx_file::kBool)
                               .output("s", {-1})
                               .text();
  const auto model = load(with().node("Loop", {"", "", "x"}, {"y"}, {{"body", {}, idle}}).output("y", {-1}).model());
  RunOptions options;
  options.max_steps = 1000;
  EXPECT_ERROR(model->run({{"x", zeros({1})}}, options), kInvalidArgument,
               "node 'n_y' (Loop): more than 1000 nodes were run");
}

TEST(HostileGraphs, DeepNesting) {
  std::string body = GraphText().node("Neg", {"x"}, {"o"}).output("o", {1}).text();
  for (int i = 0; i < 40; ++i) {
    body = GraphText()
               .node("If", {"c"}, {"o"},
                     {{"then_branch", {}, body}, {"else_branch", {}, body.size() < 2000 ? body : "\x12\x01g"}})
               .output("o", {1})
               .text();
  }
  EXPECT_ERROR(load(GraphText()
                        .input("x", {1})
                        .input("c", {}, onnx_file::kBool)
                        .node("If", {"c"}, {"y"}, {{"then_branch", {}, body}, {"else_branch", {}, body}})
                        .output("y", {1})
                        .model()),
               kBadFile, "nested deeper than 16");
}

// Good files with bytes changed, left out or put in: what libFuzzer does, for a moment.
TEST(HostileGraphs, DamagedFilesGetASentence) {
  size_t ran = 0, seed = 1;
  for (const std::string& good : onnx_seeds()) {
    EXPECT_TRUE(fuzz_onnx(std::as_bytes(std::span(good))));
    std::mt19937 random(static_cast<uint32_t>(seed++));
    for (int round = 0; round < 300; ++round) {
      std::string bad = good;
      for (uint32_t change = random() % 4 + 1; change > 0; --change) {
        const size_t at = random() % bad.size();
        const auto kind = random() % 4;
        if (kind == 0) bad[at] = static_cast<char>(random());
        if (kind == 1) bad[at] = static_cast<char>(bad[at] + 1);
        if (kind == 2) bad.erase(at, random() % 4 + 1);
        if (kind == 3) bad.insert(at, 1, static_cast<char>(random() % 3 ? 0x7F : 0xFF));
      }
      ran += fuzz_onnx(std::as_bytes(std::span(bad)));
    }
  }
  EXPECT_GT(ran, 20U);  // most damage is in names and numbers that do no harm
}

TEST(HostileGraphs, TensorsThatLie) {
  const auto with = [](const std::string& tensor) {
    return GraphText().input("x", {1}).constant_text(tensor).node("Add", {"x", "w"}, {"y"}).output("y", {1}).model();
  };
  using onnx_file::bytes;
  using onnx_file::number;
  using onnx_file::tensor_head;
  EXPECT_ERROR(load(with(tensor_head("w", {4}, 1) + bytes(9, "123"))), kBadFile,
               "x.onnx: tensor 'w' is f32 [4], which takes 16 bytes, but has 3");
  EXPECT_ERROR(load(with(tensor_head("w", {1, int64_t{1} << 62}, 1) + bytes(9, "1234"))), kBadFile, "tensor 'w'");
  EXPECT_ERROR(load(with(tensor_head("w", {-1}, 1) + bytes(9, "1234"))), kBadFile, "tensor 'w' has no shape");
  EXPECT_ERROR(load(with(tensor_head("w", {1}, 14) + bytes(9, "12345678"))), kUnsupported,
               "tensor 'w' is of type 14, which Wick does not have");
  EXPECT_ERROR(load(with(tensor_head("w", {2}, 7) + number(7, 5))), kBadFile,
               "tensor 'w' is i64 [2], but has 1 numbers");
  EXPECT_ERROR(load(with(tensor_head("w", {2}, 1))), kBadFile, "tensor 'w' is [2], but has no values");
  EXPECT_ERROR(load(with(tensor_head("w", {1, 1, 1, 1, 1, 1, 1, 1, 1}, 1) + bytes(9, "1234"))), kBadFile,
               "tensor 'w' has no shape: shape: [1, 1, 1, 1, 1, 1, 1, 1, 1] has rank 9");
}

}  // namespace
}  // namespace wick::graph
