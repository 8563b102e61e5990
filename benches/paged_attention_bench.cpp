// Attention with a paged cache in the shape of Qwen3-0.6B, a layer at a time: 16 heads, 8 key heads, 128 components.
//   paged_decode/<who>/<dtype>/<context>/threads:T    one row; bytes_per_second counts the keys and values read:
//                                                     compare with stream/read of bench_memory
//   paged_prefill/<who>/<dtype>/<context>/threads:T   512 rows behind <context> others; compare flops with limits/fma
//   paged_store/<who>/<dtype>/<rows>/threads:T        store_kv; bytes_per_second counts f32 read and the pool written
// The peer `unpaged` is scaled_dot_product_attention on keys in one piece.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <string>

#include "base/thread_pool.h"
#include "benches/inputs.h"
#include "ops/layers/paged_attention.h"
#include "ops/layers/scaled_dot_product_attention.h"
#include "tensor/arena.h"
#include "tensor/create.h"

namespace wick {
namespace {

constexpr int64_t kHeads = 16, kKvHeads = 8, kDim = 128;
// Each call reads keys that the calls before it have driven out of the caches, as the layers of a model do.
constexpr int64_t kPoolKeys = int64_t{1} << 16;

const KvBlocks& pool(DType dtype) {
  static std::map<DType, KvBlocks> made;
  KvBlocks& blocks = made[dtype];
  if (!blocks.key.defined()) {
    const int64_t count = kPoolKeys / kKvBlockTokens;
    const bool bytes = dtype == DType::kI8;
    const Tensor x = randn({count, kKvHeads, kDim, kKvBlockTokens}, 1, bytes ? DType::kF32 : dtype);
    blocks.key = bytes ? full(x.shape(), 3, dtype) : x;
    blocks.value = blocks.key.clone().with_layout(Layout::contiguous({count, kKvHeads, kKvBlockTokens, kDim}));
    if (bytes) {
      blocks.key_scale = full({count, kKvHeads, kKvBlockTokens}, 0.01);
      blocks.value_scale = full({count, kKvHeads, kKvBlockTokens}, 0.01);
    }
  }
  return blocks;
}

// Calls of `rows` rows behind `context` keys, each on other blocks of the pool, which lie in no order.
std::vector<PagedRows> calls(int64_t context, int64_t rows) {
  const int64_t blocks = (context + rows + kKvBlockTokens - 1) / kKvBlockTokens;
  std::vector<int32_t> ids(kPoolKeys / kKvBlockTokens);
  std::iota(ids.begin(), ids.end(), 0);
  std::shuffle(ids.begin(), ids.end(), std::mt19937(1));
  std::vector<PagedRows> result;
  for (int64_t at = 0; at + blocks <= static_cast<int64_t>(ids.size()); at += blocks) {
    result.push_back({tensor<int32_t>({0, static_cast<int32_t>(rows)}),
                      tensor<int32_t>({static_cast<int32_t>(context)}),
                      from_span(std::span<const int32_t>(ids).subspan(at, blocks), {1, blocks})});
  }
  return result;
}

void measure(benchmark::State& state, int threads, int64_t context, int64_t rows, DType dtype,
             const std::function<void(size_t)>& call, size_t ways) {
  ThreadPool::instance().resize(threads);
  Arena arena;
  size_t i = 0;
  const auto body = [&] {
    const ArenaScope scope(arena);
    call(i++ % ways);
  };
  body();
  for (auto _ : state) body();
  const int64_t keys = context + rows;
  const double pairs = static_cast<double>(rows) * (static_cast<double>(context) + static_cast<double>(rows + 1) / 2);
  state.SetBytesProcessed(state.iterations() * 2 * keys * kKvHeads * kDim * size_of(dtype));
  state.counters["flops"] =
      benchmark::Counter(4.0 * pairs * kHeads * kDim, benchmark::Counter::kIsIterationInvariantRate);
}

void paged(benchmark::State& state, int threads, int64_t context, int64_t rows, DType dtype) {
  const auto ways = calls(context, rows);
  const KvBlocks& blocks = pool(dtype);
  const Tensor query = random_input({rows, kHeads, kDim}, 2);
  PagedAttentionOptions options;
  options.scale = 0.088f;
  const auto call = [&](size_t i) { benchmark::DoNotOptimize(paged_attention(query, blocks, ways[i], options).raw()); };
  measure(state, threads, context, rows, dtype, call, ways.size());
}

void unpaged(benchmark::State& state, int threads, int64_t context, int64_t rows, DType dtype) {
  const int64_t keys = context + rows, size = keys * kKvHeads * kDim;
  const size_t ways = kPoolKeys / keys;
  const Tensor query = random_input({1, kHeads, rows, kDim}, 2, dtype);
  const KvBlocks& memory = pool(dtype);
  const auto piece = [&](const Tensor& x, size_t i) {
    Layout layout = Layout::contiguous({1, kKvHeads, keys, kDim});
    layout.offset = static_cast<int64_t>(i) * size;
    return x.with_layout(layout);
  };
  const auto call = [&](size_t i) {
    AttentionOptions options{.causal = true, .scale = 0.088f};
    benchmark::DoNotOptimize(
        scaled_dot_product_attention(query, piece(memory.key, i), piece(memory.value, i), options).raw());
  };
  measure(state, threads, context, rows, dtype, call, ways);
}

void store(benchmark::State& state, int threads, int64_t rows, DType dtype) {
  ThreadPool::instance().resize(threads);
  const auto ways = calls(0, rows);
  const KvBlocks& blocks = pool(dtype);
  const Tensor key = random_input({rows, kKvHeads, kDim}, 3), value = random_input({rows, kKvHeads, kDim}, 4);
  size_t i = 0;
  for (auto _ : state) store_kv(key, value, ways[i++ % ways.size()], blocks);
  state.SetBytesProcessed(state.iterations() * 2 * rows * kKvHeads * kDim * (4 + size_of(dtype)));
}

void add_all() {
  const auto add = [](const std::string& name, int threads, int64_t context, int64_t rows, DType dtype) {
    const auto which = [&](const char* who, auto body) {
      const std::string full = cat(name, "/", who, "/", dtype, "/", context, "/threads:", threads);
      benchmark::RegisterBenchmark(full.c_str(), [=](auto& state) { body(state, threads, context, rows, dtype); })
          ->UseRealTime()
          ->Unit(benchmark::kMicrosecond);
    };
    which("wick", paged);
    if (dtype != DType::kI8) which("unpaged", unpaged);
  };
  for (const int threads : {1, 2}) {
    for (const int64_t context : {15, 1023, 4095, 16383}) add("paged_decode", threads, context, 1, DType::kF16);
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kI8}) {
      add("paged_decode", threads, 4095, 1, dtype);
    }
    for (const int64_t rows : {1, 512}) {
      for (const DType dtype : {DType::kF16, DType::kI8}) {
        const std::string name = cat("paged_store/wick/", dtype, "/", rows, "/threads:", threads);
        benchmark::RegisterBenchmark(name.c_str(), [=](auto& state) { store(state, threads, rows, dtype); })
            ->UseRealTime()
            ->Unit(benchmark::kMicrosecond);
      }
    }
    for (const int64_t context : {0, 4096}) {
      for (const DType dtype : {DType::kF16, DType::kF32, DType::kI8})
        add("paged_prefill", threads, context, 512, dtype);
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
