// Matmul against OpenBLAS: matmul_<type>_<layout>/<who>/m/k/n/threads:T; "flops" is the rate.
#include <benchmark/benchmark.h>
#if WICK_HAVE_OPENBLAS
#include <cblas.h>
#endif

#include <functional>
#include <string>

#include "base/thread_pool.h"
#include "benches/inputs.h"
#include "ops/layers/matmul.h"
#include "ops/view.h"
#include "tensor/arena.h"
#include "tensor/create.h"

namespace wick {
namespace {

struct Case {
  int64_t m, k, n;
};

void run(benchmark::State& state, const Case& c, const std::function<void()>& body) {
  body();
  for (auto _ : state) body();
  const double flops = 2.0 * static_cast<double>(c.m) * static_cast<double>(c.k) * static_cast<double>(c.n);
  state.counters["flops"] = benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
}

// b is stored [n, k] when `transposed`, else [k, n].
void wick_matmul(benchmark::State& state, Case c, bool transposed, DType weights, int threads) {
  ThreadPool::instance().resize(threads);
  const Tensor& a = random_input({c.m, c.k}, 1);
  const Tensor b =
      transposed ? transpose(random_input({c.n, c.k}, 2, weights), 0, 1) : random_input({c.k, c.n}, 2, weights);
  Arena arena;
  run(state, c, [&] {
    const ArenaScope scope(arena);
    benchmark::DoNotOptimize(matmul(a, b).raw());
  });
}

#if WICK_HAVE_OPENBLAS
void openblas_matmul(benchmark::State& state, Case c, bool transposed, int threads) {
  openblas_set_num_threads(threads);
  const Tensor &a = random_input({c.m, c.k}, 1), &b = random_input(transposed ? Shape{c.n, c.k} : Shape{c.k, c.n}, 2);
  const Tensor out = empty({c.m, c.n});
  const int m = static_cast<int>(c.m), k = static_cast<int>(c.k), n = static_cast<int>(c.n);
  run(state, c, [&] {
    if (m == 1 && transposed) {  // what a caller of OpenBLAS would use for one row
      cblas_sgemv(CblasRowMajor, CblasNoTrans, n, k, 1.0f, b.data<float>(), k, a.data<float>(), 1, 0.0f,
                  out.mutable_data<float>(), 1);
      return benchmark::DoNotOptimize(out.raw());
    }
    cblas_sgemm(CblasRowMajor, CblasNoTrans, transposed ? CblasTrans : CblasNoTrans, m, n, k, 1.0f, a.data<float>(), k,
                b.data<float>(), transposed ? k : n, 0.0f, out.mutable_data<float>(), n);
    benchmark::DoNotOptimize(out.raw());
  });
}
#endif

void add(const std::string& group, const std::string& who, Case c, int threads,
         const std::function<void(benchmark::State&)>& body) {
  const std::string name = group + "/" + who + "/" + std::to_string(c.m) + "/" + std::to_string(c.k) + "/" +
                           std::to_string(c.n) + "/threads:" + std::to_string(threads);
  benchmark::RegisterBenchmark(name.c_str(), body)->UseRealTime()->Unit(benchmark::kMicrosecond);
}

void add_all() {
  std::vector<Case> squares, layers;
  for (const int64_t size : {65, 256, 512, 1000, 1024, 2047, 2048}) squares.push_back({size, size, size});
  for (const auto& [k, n] : {std::pair<int64_t, int64_t>{1024, 3072}, {3072, 1024}, {4096, 4096}}) {
    for (const int64_t m : {1, 8, 32, 128, 512}) layers.push_back({m, k, n});
  }
  layers.push_back({1, 1024, 32768});  // an output head, as in decoding
  for (const int threads : {1, 2}) {
    const auto pair = [threads](const std::string& group, Case c, bool transposed) {
      add(group, "wick", c, threads, [=](auto& state) { wick_matmul(state, c, transposed, DType::kF32, threads); });
#if WICK_HAVE_OPENBLAS
      add(group, "openblas", c, threads, [=](auto& state) { openblas_matmul(state, c, transposed, threads); });
#endif
    };
    for (const Case c : squares) pair("matmul_f32_nn", c, false);
    for (const Case c : squares) pair("matmul_f32_nt", c, true);
    for (const Case c : layers) {
      pair("matmul_f32_nt", c, true);
      for (const DType weights : {DType::kF16, DType::kBF16, DType::kQ8_0, DType::kQ4_0, DType::kQ4_K, DType::kQ6_K}) {
        add("matmul_" + std::string(to_string(weights)) + "_nt", "wick", c, threads,
            [=](auto& state) { wick_matmul(state, c, true, weights, threads); });
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
