// Finding and adding prompts of 1,000 tokens in an index that knows 10,000: what a scheduler spends per request.
// Prompts have nothing in common, or a system prompt of 512 tokens. Time is per prompt.
#include <benchmark/benchmark.h>

#include <string>

#include "engine/kv/prefix_index.h"

namespace wick {
namespace {

constexpr int64_t kKnown = 10000, kTokens = 1000, kSpare = 100;
constexpr auto kBlocks = kTokens / kKvBlockTokens;

class Prompts {
 public:
  explicit Prompts(int64_t common) : common_(common), pool_((kKnown + kSpare) * kBlocks), index_(pool_) {
    for (int64_t i = 0; i < kKnown; ++i) add(i);
  }

  std::vector<int32_t> tokens(int64_t number) const {
    std::vector<int32_t> tokens(kTokens, 7);
    auto seed = static_cast<uint64_t>(number) + 1;
    for (auto i = static_cast<size_t>(common_); i < tokens.size(); ++i) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      tokens[i] = static_cast<int32_t>(seed >> 47);
    }
    return tokens;
  }
  // A prompt as an engine takes it in: what is known, blocks for the rest, all of it known then.
  void add(int64_t number) { add(tokens(number)); }
  void add(const std::vector<int32_t>& prompt) {
    std::vector<int32_t> blocks = index_.match(prompt, kTokens - 1).blocks;
    const int64_t missing = kBlocks - static_cast<int64_t>(blocks.size()) - pool_.free();
    if (missing > 0) index_.evict(missing);
    pool_.try_grow(blocks, kBlocks * kKvBlockTokens);
    index_.insert(prompt, blocks);
    pool_.shrink(blocks, 0);
  }

  PrefixIndex& index() { return index_; }
  BlockPool& pool() { return pool_; }

 private:
  int64_t common_;
  BlockPool pool_;
  PrefixIndex index_;
};

void find_known(benchmark::State& state, int64_t common) {
  Prompts prompts(common);
  int64_t number = 0;
  for (auto _ : state) {
    state.PauseTiming();
    const std::vector<int32_t> prompt = prompts.tokens(number = (number + 7919) % kKnown);
    state.ResumeTiming();
    PrefixMatch match = prompts.index().match(prompt, kTokens - 1);
    prompts.pool().shrink(match.blocks, 0);
  }
}

// Once the pool is full, each new prompt drives the oldest out.
void add_new(benchmark::State& state, int64_t common) {
  Prompts prompts(common);
  int64_t number = kKnown;
  for (auto _ : state) {
    state.PauseTiming();
    const std::vector<int32_t> prompt = prompts.tokens(number++);
    state.ResumeTiming();
    prompts.add(prompt);
  }
}

void add_cases() {
  for (const int64_t common : {0, 512}) {
    const std::string suffix = "/common:" + std::to_string(common);
    benchmark::RegisterBenchmark(("prefix_index/find_known" + suffix).c_str(), find_known, common)
        ->Unit(benchmark::kMicrosecond);
    benchmark::RegisterBenchmark(("prefix_index/add_new" + suffix).c_str(), add_new, common)
        ->Unit(benchmark::kMicrosecond)
        ->Iterations(20000);
  }
}
const bool kAdded = (add_cases(), true);

}  // namespace
}  // namespace wick
