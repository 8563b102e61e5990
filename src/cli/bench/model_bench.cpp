#include "cli/bench/model_bench.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "base/machine.h"
#include "base/philox.h"
#include "base/text.h"
#include "cli/inspect/inspect_values.h"
#include "nn/kv_blocks_for.h"

namespace wick {
namespace {

constexpr int kMostWarmUps = 4;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

std::string SpeedCase::name() const {
  std::string out = prompt > 0 ? cat("pp", prompt) : "";
  if (generate > 0) out += cat(out.empty() ? "" : "+", "tg", generate);
  return depth > 0 ? cat(out, " @ d", depth) : out;
}

SpeedStats speed_stats(std::vector<double> rates) {
  SpeedStats stats;
  if (rates.empty()) return stats;
  const auto count = static_cast<double>(rates.size());
  stats.mean = std::accumulate(rates.begin(), rates.end(), 0.0) / count;
  double squares = 0;
  for (const double rate : rates) squares += (rate - stats.mean) * (rate - stats.mean);
  if (rates.size() > 1) stats.deviation = std::sqrt(squares / (count - 1));
  std::sort(rates.begin(), rates.end());
  const size_t middle = rates.size() / 2;
  stats.median = rates.size() % 2 ? rates[middle] : (rates[middle - 1] + rates[middle]) / 2;
  return stats;
}

SpeedBench::SpeedBench(const LanguageModel& model, DType kv, int64_t most_tokens)
    : model_(model),
      cache_(model.facts().kv_layers, model.facts().kv_layers.empty() ? 0 : kv_blocks_for(most_tokens), kv,
             model.device()) {
  for (int64_t block = 0; block < cache_.blocks(); ++block) blocks_.push_back(static_cast<int32_t>(block));
}

void SpeedBench::pass(int64_t count, bool logits) {
  const ArenaScope scope(arena_);
  batch_.clear();
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t random = philox_block(1, tokens_drawn_++)[0];
    batch_.tokens.push_back(static_cast<int32_t>(random % static_cast<uint64_t>(model_.facts().vocabulary)));
  }
  batch_.sequences.push_back({count, position_, blocks_, state_.empty() ? nullptr : &state_, nullptr});
  if (logits) batch_.logit_rows.push_back(count - 1);
  // On other devices the pass is over when its result can be read.
  const Tensor result = model_.forward(batch_, cache_).to_device(Device::cpu());
  position_ += count;
}

void SpeedBench::prefill(int64_t count, bool logits) {
  while (count > 0) {
    const int64_t chunk = std::min(count, model_.device().is_host() ? kChunk : kDeviceChunk);
    count -= chunk;
    pass(chunk, logits && count == 0);
  }
}

void SpeedBench::fill(int64_t depth) {
  if (depth != depth_ || position_ == 0) {
    position_ = 0;
    state_ = model_.new_state();
    prefill(depth, false);
    depth_ = depth;
    at_depth_ = state_.clone();
  }
  // Keys and values in front stay as they are; what lies behind is written again.
  position_ = depth;
  state_ = at_depth_.clone();
}

double SpeedBench::time(const SpeedCase& what, int64_t generate) {
  fill(what.depth);
  const auto start = std::chrono::steady_clock::now();
  prefill(what.prompt, true);
  for (int64_t token = 0; token < generate; ++token) pass(1, true);
  return std::max(seconds_since(start), 1e-9);
}

std::vector<double> SpeedBench::run(const SpeedCase& what, int repetitions, bool warm_up,
                                    const std::function<void(int)>& before) {
  // The second pass still takes memory from the system, when the arena has seen how much a pass needs.
  for (int i = 0; warm_up && i < kMostWarmUps; ++i) {
    if (before) before(-1);
    const size_t held = arena_.chunk_bytes();
    time(what, std::min<int64_t>(what.generate, 2));
    if (held > 0 && arena_.chunk_bytes() == held) break;
  }
  std::vector<double> rates;
  for (int i = 0; i < repetitions; ++i) {
    if (before) before(i);
    rates.push_back(static_cast<double>(what.tokens()) / time(what, what.generate));
  }
  return rates;
}

nlohmann::ordered_json to_json(const SpeedReport& report) {
  auto rows = nlohmann::ordered_json::array();
  for (const SpeedRow& row : report.rows) {
    const SpeedStats stats = speed_stats(row.rates);
    rows.push_back({{"test", row.what.name()},
                    {"prompt", row.what.prompt},
                    {"generate", row.what.generate},
                    {"depth", row.what.depth},
                    {"threads", row.threads},
                    {"median", stats.median},
                    {"mean", stats.mean},
                    {"deviation", stats.deviation},
                    {"tokens_per_second", row.rates}});
  }
  const SpeedModel& model = report.model;
  return {{"version", report.version},
          {"cpu", report.cpu},
          {"cpus", report.cpus},
          {"model",
           {{"name", model.name},
            {"family", model.family},
            {"type", model.type},
            {"parameters", model.parameters},
            {"bytes", model.bytes},
            {"load_seconds", model.load_seconds}}},
          {"kv", report.kv},
          {"rows", rows}};
}

std::string heading_text(const SpeedReport& report, const Terminal& terminal) {
  const SpeedModel& model = report.model;
  std::string out =
      fmt::format("wick {} on {}, {} CPU{}\n", report.version, report.cpu, report.cpus, report.cpus == 1 ? "" : "s");
  out += fmt::format("{}: {}, {} parameters, {}, {}, keys and values in {}, loaded in {:.2f} s\n\n",
                     terminal.paint(printable(model.name), Colour::kBold), model.family, count_text(model.parameters),
                     bytes_text(model.bytes), model.type, report.kv, model.load_seconds);
  const std::string columns =
      fmt::format("{:<20} {:>7} {:>10} {:>10}   {:<8}", "test", "threads", "median", "mean", "sd  tokens/s");
  return out + terminal.paint(columns, Colour::kDim) + "\n";
}

std::string row_text(const SpeedRow& row, const Terminal& terminal) {
  const SpeedStats stats = speed_stats(row.rates);
  const std::string median = fmt::format("{:>10.2f}", stats.median);
  return fmt::format("{:<20} {:>7} {} {:>10.2f} ± {:.2f}\n", row.what.name(), row.threads,
                     terminal.paint(median, Colour::kBold), stats.mean, stats.deviation);
}

}  // namespace wick
