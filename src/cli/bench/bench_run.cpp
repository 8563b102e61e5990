#include "cli/bench/bench_run.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <regex>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/text.h"
#include "cli/process.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> programs_in(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name == "bench_tokenizer") continue;  // measures no ops, and needs a tokenizer
    if (name.starts_with("bench_") && entry.is_regular_file() && access(entry.path().c_str(), X_OK) == 0) {
      found.push_back(entry.path());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::string> environment_for(const BenchOptions& options) {
  if (!options.threads) return {};
  return {cat("WICK_THREADS=", *options.threads)};
}

ProcessResult run_program(const fs::path& program, const std::vector<std::string>& arguments,
                          const BenchOptions& options) {
  ProcessResult result = run_process(program, arguments, environment_for(options));
  if (result.exit_code == 0) return result;
  const std::string reason = result.errors.substr(0, result.errors.find('\n'));
  throw Error(ErrorCode::kInternal, cat(program, ": ended with code ", result.exit_code, ": ", reason));
}

std::vector<std::string> list_benchmarks(const fs::path& program, const BenchOptions& options) {
  std::istringstream lines(run_program(program, {"--benchmark_list_tests=true"}, options).output);
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) names.push_back(line);
  }
  return names;
}

// A regular expression that matches exactly these names.
std::string exact_filter(const std::vector<std::string>& names) {
  std::string filter;
  for (const std::string& name : names) {
    filter += filter.empty() ? "^(" : "|";
    for (const char c : name) {
      if (std::string_view(".[]{}()\\*+?|^$").find(c) != std::string_view::npos) filter += '\\';
      filter += c;
    }
  }
  return filter + ")$";
}

std::regex parse_filter(const std::string& text) {
  try {
    return std::regex(text, std::regex::ECMAScript);
  } catch (const std::regex_error& problem) {
    throw Error(ErrorCode::kInvalidArgument, cat("--filter '", text, "': not a regular expression: ", problem.what()));
  }
}

}  // namespace

std::vector<fs::path> find_bench_programs() {
  const fs::path here = executable_folder(), installed = here.parent_path() / "libexec" / "wick";
  for (const fs::path& folder : {here, installed}) {
    if (auto found = programs_in(folder); !found.empty()) return found;
  }
  throw Error(ErrorCode::kIo, cat("no benchmark programs (bench_*) in ", here, " or ", installed,
                                  ": build and run them with 'make bench'"));
}

std::vector<std::string> select_benchmarks(const std::vector<std::string>& names, const BenchOptions& options) {
  const std::regex filter = parse_filter(options.filter);
  std::set<std::string> wanted;
  for (const std::string& text : names) {
    const BenchmarkName name(text);
    if (options.threads && name.threads != *options.threads) continue;
    if (name.is_limit() || std::regex_search(text, filter) || std::regex_search(name.key, filter)) {
      wanted.insert(name.key);
    }
  }
  std::vector<std::string> selected;
  std::copy_if(names.begin(), names.end(), std::back_inserter(selected),
               [&](const std::string& text) { return wanted.count(BenchmarkName(text).key) > 0; });
  return selected;
}

std::vector<Measurement> run_bench_programs(const BenchOptions& options) {
  std::vector<Measurement> all;
  for (const fs::path& program : find_bench_programs()) {
    const auto names = select_benchmarks(list_benchmarks(program, options), options);
    if (names.empty()) continue;
    if (options.progress) {
      std::cerr << "running " << program.filename().string() << " (" << names.size() << " cases)" << std::endl;
    }
    // Interleaving spreads the machine's slow moments over all cases.
    const auto result = run_program(
        program,
        {"--benchmark_format=json", "--benchmark_enable_random_interleaving=true",
         cat("--benchmark_repetitions=", options.quick ? 3 : 7),
         cat("--benchmark_min_time=", options.quick ? 0.02 : 0.1), cat("--benchmark_filter=", exact_filter(names))},
        options);
    const auto measured = parse_measurements(result.output, program.string());
    all.insert(all.end(), measured.begin(), measured.end());
  }
  return all;
}

}  // namespace wick
