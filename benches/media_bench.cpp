#include <benchmark/benchmark.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "media/audio_reader.h"
#include "media/energy_scorer.h"
#include "media/log_mel.h"
#include "media/resampler.h"
#include "media/silero_scorer.h"
#include "tensor/create.h"

// Everything runs on one thread. "speed" is seconds of sound per second: 1,000 is a thousand times real time.
namespace wick {
namespace {

constexpr int64_t kSeconds = 30;

std::vector<float> sound(int rate) {
  auto samples = randn({kSeconds * rate}, 1).to_vector<float>();
  for (float& sample : samples) sample *= 0.1f;
  return samples;
}

void report_speed(benchmark::State& state) {
  const double seconds = static_cast<double>(state.iterations() * kSeconds);
  state.counters["speed"] = benchmark::Counter(seconds, benchmark::Counter::kIsRate);
}

void log_mel_clip(benchmark::State& state) {
  const auto samples = sound(16000);
  const LogMelOptions options{static_cast<int>(state.range(0)), 0};
  for (auto _ : state) benchmark::DoNotOptimize(log_mel(samples, options));
  report_speed(state);
}
BENCHMARK(log_mel_clip)->Arg(80)->Arg(128)->Unit(benchmark::kMillisecond);

// As a microphone gives it.
void log_mel_stream(benchmark::State& state) {
  const auto samples = sound(16000);
  for (auto _ : state) {
    LogMel stream(LogMelOptions::qwen3_asr());
    for (size_t at = 0; at < samples.size(); at += 512)
      stream.push(std::span(samples).subspan(at, std::min<size_t>(512, samples.size() - at)));
    benchmark::DoNotOptimize(stream.settled_frames());
  }
  report_speed(state);
}
BENCHMARK(log_mel_stream)->Unit(benchmark::kMillisecond);

void resample_to_16k(benchmark::State& state) {
  const auto from = static_cast<int>(state.range(0));
  const auto samples = sound(from);
  for (auto _ : state) benchmark::DoNotOptimize(resample(samples, from, 16000));
  report_speed(state);
}
BENCHMARK(resample_to_16k)->Arg(8000)->Arg(44100)->Arg(44099)->Arg(48000)->Arg(192000)->Unit(benchmark::kMillisecond);

void detect_by_energy(benchmark::State& state) {
  const auto samples = sound(16000);
  for (auto _ : state) {
    benchmark::DoNotOptimize(find_speech(samples, std::make_unique<EnergyScorer>(), SegmentOptions::for_energy()));
  }
  report_speed(state);
}
BENCHMARK(detect_by_energy)->Unit(benchmark::kMillisecond);

void detect_by_network(benchmark::State& state) {
  const auto samples = sound(16000);
  const std::map<std::string_view, Shape> shapes = {{"stft_conv.weight", {258, 1, 256}},
                                                    {"conv1.weight", {128, 129, 3}},
                                                    {"conv1.bias", {128}},
                                                    {"conv2.weight", {64, 128, 3}},
                                                    {"conv2.bias", {64}},
                                                    {"conv3.weight", {64, 64, 3}},
                                                    {"conv3.bias", {64}},
                                                    {"conv4.weight", {128, 64, 3}},
                                                    {"conv4.bias", {128}},
                                                    {"lstm_cell.weight_ih", {512, 128}},
                                                    {"lstm_cell.weight_hh", {512, 128}},
                                                    {"lstm_cell.bias_ih", {512}},
                                                    {"lstm_cell.bias_hh", {512}},
                                                    {"final_conv.weight", {1, 128, 1}},
                                                    {"final_conv.bias", {1}}};
  const auto weights = SileroWeights::load([&](std::string_view name) { return full(shapes.at(name), 0.01); });
  for (auto _ : state) {
    benchmark::DoNotOptimize(find_speech(samples, std::make_unique<SileroScorer>(weights), {}));
  }
  report_speed(state);
}
BENCHMARK(detect_by_network)->Unit(benchmark::kMillisecond);

// WICK_BENCH_AUDIO: a file to decode and bring to 16 kHz.
void decode(benchmark::State& state) {
  const char* path = std::getenv("WICK_BENCH_AUDIO");
  if (!path) return state.SkipWithError("WICK_BENCH_AUDIO names no file");
  int64_t samples = 0;
  std::vector<float> piece(1 << 14);
  for (auto _ : state) {
    const auto reader = open_audio(path);
    while (const int64_t got = reader->read(piece)) samples += got;
  }
  state.counters["speed"] = benchmark::Counter(static_cast<double>(samples) / 16000, benchmark::Counter::kIsRate);
}
BENCHMARK(decode)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace wick
