#include "graph/operators/float_maps.h"

#include <algorithm>

#include "base/thread_pool.h"
#include "ops/check.h"

namespace wick::graph {
namespace {

constexpr int64_t kPiece = 16384;

template <typename Map>
void map_into(const float* from, float* to, int64_t count, Map map) {
  parallel_for(count, kPiece, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = map(from[i]);
  });
}

template <typename Map>
Tensor mapped(const Tensor& given, Map map) {
  const Tensor x = given.contiguous(), out = empty(x.shape());
  map_into(x.data<float>(), out.mutable_data<float>(), x.numel(), map);
  return out;
}

float limited(float x, float low, float high) {
  const float above = x < low ? low : x;  // NaN stays
  return above > high ? high : above;
}

}  // namespace

Tensor hard_sigmoid_map(const Tensor& x, float alpha, float beta) {
  return mapped(x, [=](float v) { return limited(v * alpha + beta, 0, 1); });
}
Tensor hard_swish_map(const Tensor& x) {
  return mapped(x, [](float v) { return v * limited(v * (1.0f / 6) + 0.5f, 0, 1); });
}
Tensor leaky_relu_map(const Tensor& x, float alpha) {
  return mapped(x, [=](float v) { return v < 0 ? v * alpha : v; });
}
Tensor clip_map(const Tensor& x, float low, float high) {
  return mapped(x, [=](float v) { return limited(v, low, high); });
}

void activate_in_place(const Tensor& out, const std::string& name, const std::vector<float>& parameters) {
  if (name.empty()) return;
  float* values = out.mutable_data<float>();
  const auto run = [&](auto map) { map_into(values, values, out.numel(), map); };
  const auto unary = [&](UnaryOp op) { find_kernel("activation", out.device(), &KernelTable::unary)(op, out, out); };
  const auto parameter = [&](size_t i) {
    if (i >= parameters.size()) throw bad_input(cat("a fused ", name, " has too few parameters"));
    return parameters[i];
  };
  if (name == "Relu") return unary(UnaryOp::kRelu);
  if (name == "Gelu") return unary(UnaryOp::kGelu);
  if (name == "GeluTanh") return unary(UnaryOp::kGeluTanh);
  if (name == "Sigmoid") return unary(UnaryOp::kSigmoid);
  if (name == "Tanh") return unary(UnaryOp::kTanh);
  if (name == "Silu") return unary(UnaryOp::kSilu);
  if (name == "HardSwish") return run([](float v) { return v * limited(v * (1.0f / 6) + 0.5f, 0, 1); });
  if (name == "HardSigmoid")
    return run([a = parameter(0), b = parameter(1)](float v) { return limited(v * a + b, 0, 1); });
  if (name == "Clip") return run([a = parameter(0), b = parameter(1)](float v) { return limited(v, a, b); });
  if (name == "LeakyRelu") return run([a = parameter(0)](float v) { return v < 0 ? v * a : v; });
  throw not_offered(cat("activation is '", name, "'"));
}

void add_row_in_place(const Tensor& out, const Tensor& bias) {
  const int64_t columns = bias.numel(), rows = columns ? out.numel() / columns : 0;
  const Tensor row = bias.contiguous();
  const float* add = row.data<float>();
  float* values = out.mutable_data<float>();
  parallel_for(rows, std::max<int64_t>(1, kPiece / std::max<int64_t>(columns, 1)), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      for (int64_t i = 0; i < columns; ++i) values[r * columns + i] += add[i];
    }
  });
}

}  // namespace wick::graph
