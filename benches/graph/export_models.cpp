// Writes ONNX files of known shapes with random weights, to compare with other runtimes: export_onnx_models FOLDER.
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "ops/binary.h"
#include "support/onnx_builder.h"
#include "tensor/create.h"

namespace wick {
namespace {

using onnx_file::GraphText;
using Ints = std::vector<int64_t>;

class Exporter {
 public:
  GraphText text;

  std::string weight(const Shape& shape, double scale) {
    const std::string name = cat("w", next_++);
    text.constant(name, mul(randn(shape, static_cast<uint64_t>(next_)), scale));
    return name;
  }
  std::string constant(const Tensor& x) {
    const std::string name = cat("c", next_++);
    text.constant(name, x);
    return name;
  }
  std::string node(const std::string& op, const std::vector<std::string>& inputs,
                   const std::vector<onnx_file::Attr>& attributes = {}) {
    const std::string name = cat("v", next_++);
    text.node(op, inputs, {name}, attributes);
    return name;
  }
  // As exporters write it: a convolution and its batch norm.
  std::string conv(const std::string& x, int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t groups = 1) {
    const double scale = std::sqrt(2.0 / static_cast<double>(in / groups * kernel * kernel));
    const int64_t pad = kernel / 2;
    const std::string y = node("Conv", {x, weight({out, in / groups, kernel, kernel}, scale)},
                               {{"kernel_shape", Ints{kernel, kernel}},
                                {"strides", Ints{stride, stride}},
                                {"pads", Ints{pad, pad, pad, pad}},
                                {"group", groups}});
    return node("BatchNormalization",
                {y, constant(ones({out})), weight({out}, 0.1), weight({out}, 0.1), constant(ones({out}))});
  }
  std::string linear(const std::string& x, int64_t in, int64_t out) {
    const std::string y = node("MatMul", {x, weight({in, out}, 1 / std::sqrt(static_cast<double>(in)))});
    return node("Add", {weight({out}, 0.1), y});
  }

 private:
  int next_ = 0;
};

std::string resnet50() {
  Exporter e;
  e.text.input("image", {1, 3, 224, 224});
  std::string x = e.node("Relu", {e.conv("image", 3, 64, 7, 2)});
  x = e.node("MaxPool", {x}, {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}});
  int64_t in = 64;
  const int64_t widths[] = {64, 128, 256, 512}, blocks[] = {3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage) {
    for (int64_t block = 0; block < blocks[stage]; ++block) {
      const int64_t stride = stage > 0 && block == 0 ? 2 : 1, width = widths[stage];
      std::string y = e.node("Relu", {e.conv(x, in, width, 1, 1)});
      y = e.node("Relu", {e.conv(y, width, width, 3, stride)});
      y = e.conv(y, width, 4 * width, 1, 1);
      const std::string side = block == 0 ? e.conv(x, in, 4 * width, 1, stride) : x;
      x = e.node("Relu", {e.node("Add", {y, side})});
      in = 4 * width;
    }
  }
  x = e.node("Flatten", {e.node("GlobalAveragePool", {x})});
  e.text.node("Gemm", {x, e.weight({1000, 2048}, 0.02), e.weight({1000}, 0.1)}, {"logits"}, {{"transB", int64_t{1}}});
  return e.text.output("logits", {1, 1000}).model(13);
}

// The shape of MobileNet v3: inverted residuals with squeeze and excitation, and hard swish.
std::string mobilenet() {
  Exporter e;
  e.text.input("image", {1, 3, 224, 224});
  const auto swish = [&](const std::string& x) { return e.node("HardSwish", {x}); };
  std::string x = swish(e.conv("image", 3, 16, 3, 2));
  struct Row {
    int64_t kernel, expand, out, squeeze, hard, stride;
  };
  constexpr Row kRows[] = {{3, 16, 16, 0, 0, 1},     {3, 64, 24, 0, 0, 2},     {3, 72, 24, 0, 0, 1},
                           {5, 72, 40, 24, 0, 2},    {5, 120, 40, 32, 0, 1},   {5, 120, 40, 32, 0, 1},
                           {3, 240, 80, 0, 1, 2},    {3, 200, 80, 0, 1, 1},    {3, 184, 80, 0, 1, 1},
                           {3, 184, 80, 0, 1, 1},    {3, 480, 112, 120, 1, 1}, {3, 672, 112, 168, 1, 1},
                           {5, 672, 160, 168, 1, 2}, {5, 960, 160, 240, 1, 1}, {5, 960, 160, 240, 1, 1}};
  int64_t in = 16;
  for (const Row& row : kRows) {
    const auto act = [&](const std::string& v) { return row.hard ? swish(v) : e.node("Relu", {v}); };
    std::string y = row.expand == in ? x : act(e.conv(x, in, row.expand, 1, 1));
    y = act(e.conv(y, row.expand, row.expand, row.kernel, row.stride, row.expand));
    if (row.squeeze) {
      const auto small = [&](const std::string& v, int64_t from, int64_t to) {
        return e.node("Conv",
                      {v, e.weight({to, from, 1, 1}, 1 / std::sqrt(static_cast<double>(from))), e.weight({to}, 0.1)});
      };
      const std::string pooled = e.node("GlobalAveragePool", {y}),
                        squeezed = e.node("Relu", {small(pooled, row.expand, row.squeeze)});
      y = e.node("Mul", {y, e.node("HardSigmoid", {small(squeezed, row.squeeze, row.expand)}, {{"alpha", 1.0f / 6}})});
    }
    y = e.conv(y, row.expand, row.out, 1, 1);
    x = row.stride == 1 && in == row.out ? e.node("Add", {x, y}) : y;
    in = row.out;
  }
  x = e.node("Flatten", {e.node("GlobalAveragePool", {swish(e.conv(x, 160, 960, 1, 1))})});
  x = swish(e.node("Gemm", {x, e.weight({1280, 960}, 0.03), e.weight({1280}, 0.1)}, {{"transB", int64_t{1}}}));
  e.text.node("Gemm", {x, e.weight({1000, 1280}, 0.03), e.weight({1000}, 0.1)}, {"logits"}, {{"transB", int64_t{1}}});
  return e.text.output("logits", {1, 1000}).model(14);
}

// An encoder as transformers exports it: MatMul and Add, layer norms and GELU in their parts.
std::string encoder(int64_t layers, int64_t hidden, int64_t heads, int64_t inner) {
  Exporter e;
  e.text.input("x", {1, -1, hidden}).input("mask", {1, 1, 1, -1});
  const std::string split = e.constant(tensor<int64_t>({0, 0, heads, hidden / heads})),
                    flat = e.constant(tensor<int64_t>({0, 0, hidden})), two = e.constant(scalar(2)),
                    half = e.constant(scalar(0.5)), one = e.constant(scalar(1)),
                    root = e.constant(scalar(std::sqrt(2.0))), epsilon = e.constant(scalar(1e-12)),
                    size = e.constant(scalar(std::sqrt(static_cast<double>(hidden / heads))));
  const auto norm = [&](const std::string& v) {
    const std::string d = e.node("Sub", {v, e.node("ReduceMean", {v}, {{"axes", Ints{-1}}})});
    const std::string variance = e.node("ReduceMean", {e.node("Pow", {d, two})}, {{"axes", Ints{-1}}});
    const std::string n = e.node("Div", {d, e.node("Sqrt", {e.node("Add", {variance, epsilon})})});
    return e.node("Add", {e.node("Mul", {n, e.constant(ones({hidden}))}), e.weight({hidden}, 0.1)});
  };
  std::string x = norm("x");
  for (int64_t layer = 0; layer < layers; ++layer) {
    const auto project = [&](const Ints& order) {
      return e.node("Transpose", {e.node("Reshape", {e.linear(x, hidden, hidden), split})}, {{"perm", order}});
    };
    const std::string q = project({0, 2, 1, 3}), k = project({0, 2, 3, 1}), v = project({0, 2, 1, 3});
    const std::string scores = e.node("Add", {e.node("Div", {e.node("MatMul", {q, k}), size}), "mask"});
    const std::string mixed = e.node("MatMul", {e.node("Softmax", {scores}, {{"axis", int64_t{-1}}}), v});
    const std::string a = e.node("Reshape", {e.node("Transpose", {mixed}, {{"perm", Ints{0, 2, 1, 3}}}), flat});
    x = norm(e.node("Add", {e.linear(a, hidden, hidden), x}));
    const std::string h = e.linear(x, hidden, inner);
    const std::string erf = e.node("Add", {e.node("Erf", {e.node("Div", {h, root})}), one});
    const std::string g = e.node("Mul", {e.node("Mul", {h, erf}), half});
    x = norm(e.node("Add", {e.linear(g, inner, hidden), x}));
  }
  e.text.node("Identity", {x}, {"y"});
  return e.text.output("y", {1, -1, hidden}).model(13);
}

}  // namespace
}  // namespace wick

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: export_onnx_models FOLDER\n", stderr);
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  const auto write = [&](const char* name, const std::string& bytes) {
    std::ofstream(folder / name, std::ios::binary) << bytes;
  };
  write("resnet50.onnx", wick::resnet50());
  write("mobilenet.onnx", wick::mobilenet());
  write("bert_base.onnx", wick::encoder(12, 768, 12, 3072));
  write("bert_small.onnx", wick::encoder(4, 256, 4, 1024));
}
