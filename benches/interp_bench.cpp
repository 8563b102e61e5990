// What looking inside costs. Capture: prefill of 256 tokens with a model of Qwen3-0.6B's shape (q8_0, random
// weights), plain and with what enters and leaves every layer kept; the two run in turn, so that what else the machine
// does counts for both, and "ratio" is the median of theirs. Sweep: patching every layer and position of a prompt of 32
// tokens in Ember.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>

#include "engine/text/text_model.h"
#include "interp/language_interp.h"
#include "interp/patching.h"
#include "interp/probes/logit_lens.h"
#include "interp/run_with_cache.h"
#include "models/load_model.h"
#include "models/random_model.h"

namespace wick {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<int32_t> some_text(size_t count, uint32_t seed, uint32_t vocabulary) {
  std::vector<int32_t> tokens;
  for (size_t i = 0; i < count; ++i) {
    seed = seed * 1664525 + 1013904223;
    tokens.push_back(static_cast<int32_t>((seed >> 8) % vocabulary));
  }
  return tokens;
}

const LanguageInterp& large_model() {
  static const LanguageInterp model(
      load_model(WeightSource(Checkpoint::parse(random_gguf(model_shape("qwen3-0.6b"), QuantizePlan::named("q8_0")))),
                 {.context = 1024}));
  return model;
}

template <typename Body>
double seconds_of(const Body& body) {
  const Clock::time_point start = Clock::now();
  body();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void capture_residuals(benchmark::State& state) {
  const LanguageInterp& model = large_model();
  const std::vector<int32_t> tokens = some_text(256, 1, 1000);
  CaptureOptions options;
  options.points = {"blocks.*.hook_resid_pre", "blocks.*.hook_resid_mid", "blocks.*.hook_resid_post"};
  model.run(tokens, {}, LogitRows::kLast);
  std::vector<double> plain, captured, ratios;
  for (auto _ : state) {
    plain.push_back(seconds_of([&] { model.run(tokens, {}, LogitRows::kLast); }));
    captured.push_back(seconds_of([&] { run_with_cache(model, tokens, options); }));
    ratios.push_back(captured.back() / plain.back());
    state.SetIterationTime(captured.back());
  }
  state.counters["plain_s"] = median(plain);
  state.counters["ratio"] = median(ratios);
}
BENCHMARK(capture_residuals)->Name("interp/capture/qwen3-0.6b")->UseManualTime()->Iterations(9);

void sweep_ember(benchmark::State& state) {
  const std::shared_ptr<const TextModel> ember = TextModel::ember();
  const LanguageInterp model(std::shared_ptr<const LanguageModel>(ember, &ember->model()));
  const std::vector<int32_t> clean = some_text(32, 1, 4000);
  std::vector<int32_t> corrupted = clean;
  corrupted[4] = 17;
  for (auto _ : state) patch_sweep(model, clean, corrupted, HookPoint::kResidPre, {}, Metric::logit_difference(5, 9));
  state.counters["cells"] = static_cast<double>(8 * 32);
}
BENCHMARK(sweep_ember)->Name("interp/patch/ember/8x32")->Unit(benchmark::kMillisecond)->UseRealTime();

void lens_ember(benchmark::State& state) {
  const std::shared_ptr<const TextModel> ember = TextModel::ember();
  const LanguageInterp model(std::shared_ptr<const LanguageModel>(ember, &ember->model()));
  const std::vector<int32_t> tokens = some_text(512, 1, 4000);
  for (auto _ : state) logit_lens(model, tokens);
}
BENCHMARK(lens_ember)->Name("interp/lens/ember/9x512")->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace wick
