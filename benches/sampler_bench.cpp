// Choosing one token from the 151,936 logits of Qwen 3: made-up ones, a few words ahead of a bell-shaped crowd, as a
// model gives them. "flat" is the crowd alone, the worst case for top-p.
#include <benchmark/benchmark.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/philox.h"
#include "engine/sampling/sampler.h"

namespace wick {
namespace {

constexpr int64_t kVocabulary = 151936;

std::vector<float> make_logits(bool is_flat) {
  std::vector<float> logits(kVocabulary);
  for (size_t i = 0; i < logits.size(); ++i) {
    const auto random = philox_block(1, i);
    double sum = 0;  // of four: nearly normal
    for (const uint32_t word : random) sum += static_cast<double>(word) * 0x1p-32 - 0.5;
    logits[i] = static_cast<float>(sum * (is_flat ? 1.0 : 5.0));
    if (!is_flat && random[0] % 5000 == 0) logits[i] += 12;
  }
  return logits;
}

void measure(benchmark::State& state, const SamplingParams& params, bool is_flat, bool is_masked) {
  const std::vector<float> logits = make_logits(is_flat);
  std::vector<uint32_t> mask;
  if (is_masked) mask.assign(kVocabulary / 32, 0x5A5AF0FF);
  std::vector<int32_t> prompt(2048);
  for (size_t i = 0; i < prompt.size(); ++i)
    prompt[i] = static_cast<int32_t>(philox_block(2, i % 700)[0] % kVocabulary);
  Sampler sampler(params, kVocabulary, [](int32_t token) { return std::to_string(token); });
  sampler.start(prompt);
  for (auto _ : state) {
    benchmark::DoNotOptimize(sampler.sample(logits, mask).token);
    sampler.accept(7);
    if (sampler.accepted() == 256) sampler.rollback(256);
  }
}

void add(const std::string& name, const SamplingParams& params, bool is_flat = false, bool is_masked = false) {
  benchmark::RegisterBenchmark(("sampler/" + name).c_str(), [=](benchmark::State& state) {
    measure(state, params, is_flat, is_masked);
  })->Unit(benchmark::kMicrosecond);
}

const bool kRegistered = [] {
  add("greedy", {.temperature = 0});
  add("greedy/mask", {.temperature = 0}, false, true);
  add("greedy/repetition", {.temperature = 0, .repetition_penalty = 1.1f});
  add("greedy/dry", {.temperature = 0, .dry_multiplier = 0.8f});
  add("greedy/logprobs20", {.temperature = 0, .logprobs = 20});
  add("temperature", {.temperature = 0.8f});
  add("top_k40+top_p+min_p", {.temperature = 0.8f, .top_k = 40, .top_p = 0.95f, .min_p = 0.05f});
  add("top_k1000", {.top_k = 1000});
  add("top_k10000", {.top_k = 10000});
  add("min_p", {.min_p = 0.05f});
  add("top_p", {.top_p = 0.95f});
  add("top_p/flat", {.top_p = 0.95f}, true);
  add("typical", {.typical_p = 0.95f});
  add("xtc", {.xtc_probability = 0.5f});
  add("mirostat", {.mirostat = true});
  return true;
}();

}  // namespace
}  // namespace wick
