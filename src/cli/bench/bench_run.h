#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/bench/bench_report.h"

namespace wick {

struct BenchOptions {
  std::string filter;          // a regular expression that finds something in the case's name; empty: all
  std::optional<int> threads;  // only cases with this many threads
  bool quick = false;          // fewer and shorter repetitions
  bool progress = false;       // say on standard error what is running
};

// The benchmark programs (bench_*) beside the running executable, else in ../libexec/wick; sorted by name.
// Throws Error(kIo) saying how to build them when there are none.
std::vector<std::filesystem::path> find_bench_programs();

// The names to run so that every wanted case has its peers and the machine's limits.
// Throws Error(kInvalidArgument) when the filter is no regular expression.
std::vector<std::string> select_benchmarks(const std::vector<std::string>& names, const BenchOptions& options);

std::vector<Measurement> run_bench_programs(const BenchOptions& options);

}  // namespace wick
