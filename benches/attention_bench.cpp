// Attention against matmul + softmax + matmul: attention/<who>/<heads>/<tokens>/<head_dim>/threads:T.
#include <benchmark/benchmark.h>

#include <cmath>
#include <functional>
#include <string>

#include "base/thread_pool.h"
#include "benches/inputs.h"
#include "ops/binary.h"
#include "ops/layers/matmul.h"
#include "ops/layers/scaled_dot_product_attention.h"
#include "ops/softmax.h"
#include "ops/view.h"
#include "tensor/arena.h"
#include "tensor/create.h"

namespace wick {
namespace {

struct Case {
  int64_t heads, queries, keys, dim;
};

Tensor composed(const Tensor& q, const Tensor& k, const Tensor& v) {
  const Tensor scores = mul(matmul(q, transpose(k, -1, -2)), 1.0 / std::sqrt(static_cast<double>(q.dim(-1))));
  return matmul(softmax(scores, -1), v);
}

void run(benchmark::State& state, Case c, bool fused, bool causal, DType dtype, int threads) {
  ThreadPool::instance().resize(threads);
  const Tensor q = random_input({1, c.heads, c.queries, c.dim}, 1, dtype),
               k = random_input({1, c.heads, c.keys, c.dim}, 2, dtype);
  const Tensor v = random_input({1, c.heads, c.keys, c.dim}, 3, dtype);
  Arena arena;
  const auto body = [&] {
    const ArenaScope scope(arena);
    AttentionOptions options;
    options.causal = causal;
    benchmark::DoNotOptimize((fused ? scaled_dot_product_attention(q, k, v, options) : composed(q, k, v)).raw());
  };
  body();
  for (auto _ : state) body();
  const double pairs = static_cast<double>(c.heads * c.queries) * static_cast<double>(c.keys) * (causal ? 0.5 : 1.0);
  state.counters["flops"] =
      benchmark::Counter(4.0 * pairs * static_cast<double>(c.dim), benchmark::Counter::kIsIterationInvariantRate);
}

void add(const std::string& group, const std::string& who, Case c, int threads,
         const std::function<void(benchmark::State&)>& body) {
  const std::string name = group + "/" + who + "/" + std::to_string(c.heads) + "/" + std::to_string(c.keys) + "/" +
                           std::to_string(c.dim) + "/threads:" + std::to_string(threads);
  benchmark::RegisterBenchmark(name.c_str(), body)->UseRealTime()->Unit(benchmark::kMicrosecond);
}

void add_all() {
  for (const int threads : {1, 2}) {
    for (const int64_t tokens : {1024, 4096}) {
      for (const int64_t dim : {64, 128}) {
        const Case prompt{4, tokens, tokens, dim}, decode{32, 1, tokens, dim};
        const auto fused = [threads](const std::string& group, Case c, bool causal, DType dtype) {
          add(group, "wick", c, threads, [=](auto& state) { run(state, c, true, causal, dtype, threads); });
        };
        const auto plain = [threads](const std::string& group, Case c) {
          add(group, "composed", c, threads, [=](auto& state) { run(state, c, false, false, DType::kF32, threads); });
        };
        fused("attention", prompt, false, DType::kF32);
        plain("attention", prompt);
        fused("attention_causal", prompt, true, DType::kF32);
        fused("attention_decode", decode, true, DType::kF32);
        plain("attention_decode", decode);
        fused("attention_decode_bf16", decode, true, DType::kBF16);
        const Case far{8, 1, 8 * tokens, dim};  // too much for any cache at 32768 keys
        fused("attention_decode", far, true, DType::kF32);
        fused("attention_decode_bf16", far, true, DType::kBF16);
      }
    }
  }
}

}  // namespace
}  // namespace wick

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  wick::add_all();
  benchmark::RunSpecifiedBenchmarks();
}
