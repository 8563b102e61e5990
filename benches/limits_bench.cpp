// What the machine can do at best: fused multiply-adds in registers, with one thread and with all.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "benches/limits_bench.cpp"
#include "hwy/foreach_target.h"
// Highway includes this file once per target from here on.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace wick::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Ten independent chains hide the latency of a multiply-add (4 cycles, 2 units: 8 are needed).
// Returns the number of operations; `sink` keeps the work alive.
double FmaLoop(int64_t rounds, float* sink) {
  const hn::ScalableTag<float> d;
  const auto factor = hn::Set(d, 0.999f), term = hn::Set(d, 0.001f);
  const auto start = [&](float chain) HWY_ATTR { return hn::Set(d, *sink + chain); };  // chains must differ
  auto s0 = start(0), s1 = start(1), s2 = start(2), s3 = start(3), s4 = start(4);
  auto s5 = start(5), s6 = start(6), s7 = start(7), s8 = start(8), s9 = start(9);
  for (int64_t i = 0; i < rounds; ++i) {
    s0 = hn::MulAdd(s0, factor, term);
    s1 = hn::MulAdd(s1, factor, term);
    s2 = hn::MulAdd(s2, factor, term);
    s3 = hn::MulAdd(s3, factor, term);
    s4 = hn::MulAdd(s4, factor, term);
    s5 = hn::MulAdd(s5, factor, term);
    s6 = hn::MulAdd(s6, factor, term);
    s7 = hn::MulAdd(s7, factor, term);
    s8 = hn::MulAdd(s8, factor, term);
    s9 = hn::MulAdd(s9, factor, term);
  }
  const auto low = hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)), high = hn::Add(hn::Add(s4, s5), hn::Add(s6, s7));
  *sink = hn::GetLane(hn::Add(hn::Add(low, high), hn::Add(s8, s9)));
  return 2.0 * 10 * static_cast<double>(hn::Lanes(d)) * static_cast<double>(rounds);
}

}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <benchmark/benchmark.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/text.h"
#include "base/thread_pool.h"

namespace wick {
namespace {

HWY_EXPORT(FmaLoop);

void fma_peak(benchmark::State& state, int threads) {
  constexpr int64_t kRounds = 1 << 18, kPiecesPerThread = 8;
  ThreadPool::instance().resize(threads);
  const int64_t pieces = kPiecesPerThread * threads;
  struct alignas(64) Slot {
    double operations = 0;
    float sink = 0;
  };
  std::vector<Slot> slots(pieces);
  double operations = 0;
  for ([[maybe_unused]] auto _ : state) {
    parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        slots[i].operations = HWY_DYNAMIC_DISPATCH(FmaLoop)(kRounds, &slots[i].sink);
      }
    });
    for (const Slot& slot : slots) operations += slot.operations;
    benchmark::DoNotOptimize(slots.data());
  }
  state.counters["flops"] = benchmark::Counter(operations, benchmark::Counter::kIsRate);
}

}  // namespace
}  // namespace wick

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const int all = wick::ThreadPool::instance().size();
  for (const int threads : std::set<int>{1, std::min(2, all), all}) {
    benchmark::RegisterBenchmark(wick::cat("limits/fma/threads:", threads).c_str(), wick::fma_peak, threads)
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
#endif  // HWY_ONCE
