// Kernels bound by memory against the machine's limits: bytes_per_second counts inputs read and outputs written.
// Compare with stream/copy (one input), stream/triad (two inputs) and stream/read (reductions) of the same threads.
#include <benchmark/benchmark.h>

#include <functional>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "ops/ops.h"
#include "tensor/arena.h"
#include "tensor/create.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace wick {
namespace {

constexpr int64_t kElements = (int64_t{64} << 20) / 4;
constexpr int64_t kPiece = 32768;  // floats a thread takes at a time

#if defined(__x86_64__)
void store_line(float* to, __m128 a, __m128 b, __m128 c, __m128 d) {
  _mm_stream_ps(to, a);
  _mm_stream_ps(to + 4, b);
  _mm_stream_ps(to + 8, c);
  _mm_stream_ps(to + 12, d);
}
void stream_copy(const float* from, float* to, int64_t count) {
  for (int64_t i = 0; i < count; i += 16) {
    store_line(to + i, _mm_load_ps(from + i), _mm_load_ps(from + i + 4), _mm_load_ps(from + i + 8),
               _mm_load_ps(from + i + 12));
  }
  _mm_sfence();
}
void stream_triad(const float* a, const float* b, float* to, int64_t count) {
  const __m128 scale = _mm_set1_ps(3.0f);
  const auto at = [&](int64_t i) { return _mm_add_ps(_mm_load_ps(a + i), _mm_mul_ps(scale, _mm_load_ps(b + i))); };
  for (int64_t i = 0; i < count; i += 16) store_line(to + i, at(i), at(i + 4), at(i + 8), at(i + 12));
  _mm_sfence();
}
float stream_read(const float* from, int64_t count) {
  __m128 sums[8] = {};
  for (int64_t i = 0; i < count; i += 32) {
    for (int j = 0; j < 8; ++j) sums[j] = _mm_add_ps(sums[j], _mm_load_ps(from + i + 4 * j));
  }
  for (int j = 1; j < 8; ++j) sums[0] = _mm_add_ps(sums[0], sums[j]);
  return _mm_cvtss_f32(sums[0]);
}
#else
void stream_copy(const float* from, float* to, int64_t count) { std::copy(from, from + count, to); }
void stream_triad(const float* a, const float* b, float* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = a[i] + 3.0f * b[i];
}
float stream_read(const float* from, int64_t count) {
  float sums[32] = {};
  for (int64_t i = 0; i < count; i += 32) {
    for (int j = 0; j < 32; ++j) sums[j] += from[i + j];
  }
  for (int j = 1; j < 32; ++j) sums[0] += sums[j];
  return sums[0];
}
#endif

// Runs `body` in a steady loop, with outputs in memory that is reused.
void run(benchmark::State& state, int threads, int64_t bytes, const std::function<void()>& body) {
  ThreadPool::instance().resize(threads);
  Arena arena;
  for (int i = 0; i < 2; ++i) {
    const ArenaScope scope(arena);
    body();
  }
  for (auto _ : state) {
    const ArenaScope scope(arena);
    body();
  }
  state.SetBytesProcessed(state.iterations() * bytes);
}

void add_bench(const std::string& name, int64_t bytes, const std::function<void()>& body) {
  for (const int threads : {1, 2}) {
    const std::string full = name + "/threads:" + std::to_string(threads);
    benchmark::RegisterBenchmark(full.c_str(), [=](benchmark::State& state) { run(state, threads, bytes, body); })
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
  }
}

// Inputs shared by all benchmarks: 64 MiB each.
const Tensor& flat_a() {
  static const Tensor x = randn({kElements}, 1);
  return x;
}
const Tensor& flat_b() {
  static const Tensor x = add(rand({kElements}, 2), 0.5);
  return x;
}
const Tensor& flat_out() {
  static const Tensor x = zeros({kElements});
  return x;
}

void register_streams() {
  const int64_t bytes = kElements * 4;
  add_bench("stream/copy/64MiB", 2 * bytes, [] {
    parallel_for(kElements, kPiece, [](int64_t begin, int64_t end) {
      stream_copy(flat_a().data<float>() + begin, flat_out().mutable_data<float>() + begin, end - begin);
    });
  });
  add_bench("stream/triad/64MiB", 3 * bytes, [] {
    parallel_for(kElements, kPiece, [](int64_t begin, int64_t end) {
      stream_triad(flat_a().data<float>() + begin, flat_b().data<float>() + begin,
                   flat_out().mutable_data<float>() + begin, end - begin);
    });
  });
  add_bench("stream/read/64MiB", bytes, [] {
    parallel_for(kElements, kPiece, [](int64_t begin, int64_t end) {
      benchmark::DoNotOptimize(stream_read(flat_a().data<float>() + begin, end - begin));
    });
  });
}

void register_elementwise() {
  const int64_t bytes = kElements * 4;
  const std::vector<std::pair<std::string, Tensor (*)(const Tensor&)>> unary = {
      {"relu", relu}, {"exp", exp},   {"log", log}, {"silu", silu}, {"sigmoid", sigmoid},   {"gelu", gelu},
      {"tanh", tanh}, {"sqrt", sqrt}, {"sin", sin}, {"erf", erf},   {"softplus", softplus}, {"gelu_tanh", gelu_tanh}};
  for (const auto& [name, op] : unary) {
    add_bench(name + "/wick/64MiB", 2 * bytes, [op = op] { op(flat_b()); });
  }
  const std::vector<std::pair<std::string, Tensor (*)(const Tensor&, const Tensor&)>> binary = {
      {"add", add}, {"mul", mul}, {"div", div}, {"maximum", maximum}, {"pow", pow}};
  for (const auto& [name, op] : binary) {
    add_bench(name + "/wick/64MiB", 3 * bytes, [op = op] { op(flat_b(), flat_a()); });
  }
  add_bench("add_scalar/wick/64MiB", 2 * bytes, [] { add(flat_a(), 2.0); });
  add_bench("add_row/wick/16384x1024", 2 * bytes, [] {
    add(reshape(flat_a(), {16384, 1024}), narrow(flat_b(), 0, 0, 1024));
  });
  add_bench("add_column/wick/16384x1024", 2 * bytes, [] {
    add(reshape(flat_a(), {16384, 1024}), reshape(narrow(flat_b(), 0, 0, 16384), {16384, 1}));
  });
  add_bench("add_short_row/wick/2097152x8", 2 * bytes, [] {
    add(reshape(flat_a(), {kElements / 8, 8}), narrow(flat_b(), 0, 0, 8));
  });
  add_bench("lt/wick/64MiB", 2 * bytes + kElements, [] { lt(flat_a(), flat_b()); });
  add_bench("copy/wick/64MiB", 2 * bytes, [] { flat_a().clone(); });
  add_bench("copy_transposed/wick/4096x4096", 2 * bytes, [] {
    transpose(reshape(flat_a(), {4096, 4096}), 0, 1).contiguous();
  });
  add_bench("to_bf16/wick/64MiB", bytes + bytes / 2, [] { flat_a().to_dtype(DType::kBF16); });
}

void register_rows() {
  const int64_t bytes = kElements * 4;
  static const Tensor weight = rand({1024}, 3), bias = rand({1024}, 4);
  const auto matrix = [] { return reshape(flat_a(), {16384, 1024}); };
  add_bench("softmax/wick/16384x1024", 2 * bytes, [=] { softmax(matrix(), 1); });
  add_bench("softmax_columns/wick/16384x1024", 2 * bytes, [=] { softmax(reshape(flat_a(), {16, 1024, 1024}), 1); });
  add_bench("log_softmax/wick/16384x1024", 2 * bytes, [=] { log_softmax(matrix(), 1); });
  add_bench("layer_norm/wick/16384x1024", 2 * bytes, [=] { layer_norm(matrix(), weight, bias, 1e-5f); });
  add_bench("rms_norm/wick/16384x1024", 2 * bytes, [=] { rms_norm(matrix(), weight, 1e-5f); });
  static const Tensor cos = rand({1024, 64}, 5), sin = rand({1024, 64}, 6);
  add_bench("rope/wick/128x1024x128", 2 * bytes, [] { rope(reshape(flat_a(), {128, 1024, 128}), cos, sin, false); });
  add_bench("cumsum/wick/16384x1024", 2 * bytes, [=] { cumsum(matrix(), 1); });
  const std::vector<std::pair<std::string, std::function<Tensor(const Tensor&, std::span<const int64_t>)>>> reductions =
      {{"sum", [](const Tensor& x, std::span<const int64_t> dims) { return sum(x, dims); }},
       {"mean", [](const Tensor& x, std::span<const int64_t> dims) { return mean(x, dims); }},
       {"max", [](const Tensor& x, std::span<const int64_t> dims) { return max(x, dims); }},
       {"var", [](const Tensor& x, std::span<const int64_t> dims) { return var(x, dims); }}};
  static const std::vector<int64_t> over_rows = {0}, over_columns = {1};
  for (const auto& [name, op] : reductions) {
    add_bench(name + "_all/wick/64MiB", bytes, [op = op] { op(flat_a(), {}); });
    add_bench(name + "_rows/wick/16384x1024", bytes, [=, op = op] { op(matrix(), over_columns); });
    add_bench(name + "_columns/wick/16384x1024", bytes, [=, op = op] { op(matrix(), over_rows); });
  }
  add_bench("sum_short_rows/wick/2097152x8", bytes, [] { sum(reshape(flat_a(), {kElements / 8, 8}), over_columns); });
  add_bench("sum_few_columns/wick/4194304x4", bytes, [] { sum(reshape(flat_a(), {kElements / 4, 4}), over_rows); });
  add_bench("argmax/wick/16384x1024", bytes, [=] { argmax(matrix(), 1); });
}

void register_sorting() {
  static const Tensor logits = randn({151936}, 7);
  static const Tensor table = randn({32768, 512}, 8);
  static const Tensor tokens = mul(rand({8192}, 9), 32767.0).to_dtype(DType::kI64);
  add_bench("topk_50/wick/151936", logits.numel() * 4, [] { topk(logits, 50, 0); });
  add_bench("sort/wick/151936", logits.numel() * 4, [] { sort(logits, 0); });
  add_bench("index_select/wick/8192x512", tokens.numel() * 512 * 8, [] { index_select(table, 0, tokens); });
}

}  // namespace
}  // namespace wick

int main(int argc, char** argv) {
  wick::register_streams();
  wick::register_elementwise();
  wick::register_rows();
  wick::register_sorting();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
