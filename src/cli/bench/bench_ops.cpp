#include <unistd.h>

#include <iostream>
#include <memory>

#include "base/error.h"
#include "base/machine.h"
#include "base/text.h"
#include "cli/bench/bench_run.h"
#include "cli/commands.h"

namespace wick {
namespace {

int bench_ops(const BenchOptions& options, bool json) {
  const auto measurements = run_bench_programs(options);
  const MachineInfo machine = machine_info();
  const BenchReport report = {WICK_VERSION, machine.cpu, machine.cpus_allowed, machine_limits(measurements),
                              pair_measurements(measurements)};
  if (report.rows.empty()) {
    const std::string with_filter = options.filter.empty() ? "" : cat(" that matches --filter '", options.filter, "'");
    const std::string with_threads = options.threads ? cat(" with ", *options.threads, " threads") : "";
    throw Error(ErrorCode::kInvalidArgument,
                cat("the benchmark programs have no case of Wick's", with_filter, with_threads));
  }
  std::cout << (json ? to_json(report).dump(2) + "\n" : to_text(report, Terminal::of_stdout()));
  return 0;
}

}  // namespace

void add_bench_ops(CLI::App& bench, Action& action) {
  CLI::App* ops = bench.add_subcommand("ops", "Measure the ops against other libraries and the machine's limits");
  const auto options = std::make_shared<BenchOptions>();
  const auto json = std::make_shared<bool>(false);
  ops->add_flag("--json", *json, "Print one JSON object");
  ops->add_option("--threads", options->threads, "Only cases with this many threads (default: all)")
      ->check(CLI::Range(1, 1024));
  ops->add_flag("--quick", options->quick, "Fewer and shorter repetitions: a rough answer");
  ops->add_option("--filter", options->filter, "Only cases whose name matches this regular expression");
  ops->footer(
      "Each case runs several times, interleaved with the others; the median counts. A ratio above 1 means that Wick\n"
      "is faster. Cases that count bytes are held against the measured memory bandwidth. The benchmark programs are\n"
      "built by 'make bench'.\n\n"
      "Examples:\n"
      "  wick bench ops\n"
      "  wick bench ops --quick --filter '^matmul/.*512'\n"
      "  wick bench ops --threads 1 --json");
  ops->callback([&action, options, json] {
    action = [options, json] {
      options->progress = isatty(STDERR_FILENO) != 0;
      return bench_ops(*options, *json);
    };
  });
}

}  // namespace wick
