#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/terminal/terminal.h"
#include "models/language_model.h"
#include "tensor/arena.h"

namespace wick {

// What is measured: prefill of `prompt` tokens, then decode of `generate` tokens, behind a context of `depth`.
struct SpeedCase {
  int64_t prompt = 0, generate = 0, depth = 0;

  std::string name() const;  // "pp512", "tg128", "pp512+tg128", "tg128 @ d4096"
  int64_t tokens() const { return prompt + generate; }
};

// Tokens per second over repetitions.
struct SpeedStats {
  double median = 0, mean = 0, deviation = 0;  // the sample's standard deviation; 0 for a single one
};
SpeedStats speed_stats(std::vector<double> rates);

struct SpeedRow {
  SpeedCase what;
  int threads = 1;
  std::vector<double> rates;  // tokens per second, one per repetition
};

// Runs cases on one model. Tokens are random and logits are computed where a reader and a writer need them: at the end
// of the prompt and for every token written; nothing is sampled.
class SpeedBench {
 public:
  // `most_tokens`: the longest case with its depth.
  SpeedBench(const LanguageModel& model, DType kv, int64_t most_tokens);

  // Warms up until passes take no new memory. `before` is called in front of each repetition, with -1 for untimed ones.
  std::vector<double> run(const SpeedCase& what, int repetitions, bool warm_up = true,
                          const std::function<void(int)>& before = {});

  static constexpr int64_t kChunk = 512, kDeviceChunk = 2048;  // tokens of a prompt per pass

 private:
  void prefill(int64_t count, bool logits);
  void pass(int64_t count, bool logits);
  void fill(int64_t depth);
  double time(const SpeedCase& what, int64_t generate);  // seconds

  const LanguageModel& model_;
  KvCache cache_;
  std::vector<int32_t> blocks_;
  RecurrentState state_, at_depth_;
  int64_t position_ = 0, depth_ = 0;
  uint64_t tokens_drawn_ = 0;
  ForwardBatch batch_;
  Arena arena_;
};

// What a report says of the model.
struct SpeedModel {
  std::string name, family, type;
  int64_t parameters = 0, bytes = 0;
  double load_seconds = 0;
};
struct SpeedReport {
  std::string version, cpu;
  int cpus = 1;
  SpeedModel model;
  std::string kv;
  std::vector<SpeedRow> rows;
};

nlohmann::ordered_json to_json(const SpeedReport& report);
// The table in parts, so that rows can be shown as they come.
std::string heading_text(const SpeedReport& report, const Terminal& terminal);
std::string row_text(const SpeedRow& row, const Terminal& terminal);

}  // namespace wick
