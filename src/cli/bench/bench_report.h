#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/terminal/terminal.h"

namespace wick {

// A benchmark's name is <what>/<who>/<case...>/threads:<n>: "matmul/wick/f32/512x512x512/threads:2". The same name
// with another <who> is the peer to compare with. "stream/..." and "limits/..." are limits of the machine.
struct BenchmarkName {
  explicit BenchmarkName(std::string_view name);

  std::string what, who;
  std::string key;  // the name without <who> and without Google Benchmark's own suffixes
  int threads = 1;
  bool is_limit() const { return what == "stream" || what == "limits"; }
};

// One benchmark: the medians over its repetitions.
struct Measurement {
  std::string name;
  double seconds = 0;           // per iteration
  double flops = 0, bytes = 0;  // per second; 0 when the benchmark does not say
  std::string limit;            // the label: the stream/... limit this case is held against, if it names one
  std::string error;            // what the benchmark reported instead of a result
};

// Reads what a program prints with --benchmark_format=json. Throws Error(kBadFile) naming `source`.
std::vector<Measurement> parse_measurements(std::string_view text, const std::string& source);

enum class BenchUnit { kGigaflops, kGigabytes, kMilliseconds };

struct BenchRow {
  std::string name;  // the key
  BenchUnit unit = BenchUnit::kMilliseconds;
  double value = 0;
  std::string peer;  // "openblas", "stream/copy"; empty when there is nothing to compare with
  double peer_value = 0;
  double ratio = 0;            // above 1: Wick is faster
  std::optional<double> goal;  // the ratio Wick wants to reach
  std::string error;
};

// Pairs Wick's cases with their peers, or else with the machine's limits at the same number of threads: memory
// bandwidth for cases that count bytes (of the stream that moves memory alike: read, copy or triad), multiply-add peak
// for those that count operations.
std::vector<BenchRow> pair_measurements(const std::vector<Measurement>& measurements);

// Limits of the machine, fastest of each kind and number of threads.
struct MachineLimit {
  std::string name;  // "fma" or "stream"
  int threads = 1;
  double value = 0;  // operations or bytes per second
};
std::vector<MachineLimit> machine_limits(const std::vector<Measurement>& measurements);

struct BenchReport {
  std::string version, cpu;
  int cpus = 1;
  std::vector<MachineLimit> limits;
  std::vector<BenchRow> rows;
};

nlohmann::ordered_json to_json(const BenchReport& report);
std::string to_text(const BenchReport& report, const Terminal& terminal);

}  // namespace wick
