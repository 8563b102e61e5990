#include "cli/bench/bench_report.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/bench/bench_run.h"

namespace wick {
namespace {

// What a benchmark program prints, cut down: three interleaved repetitions of one case, one of the others.
constexpr const char* kOutput = R"({
  "context": {"num_cpus": 2},
  "benchmarks": [
    {"name": "matmul/wick/f32/512/threads:1/real_time", "run_name": "matmul/wick/f32/512/threads:1/real_time",
     "run_type": "iteration", "real_time": 2.0, "time_unit": "ms", "flops": 90e9},
    {"name": "matmul/openblas/f32/512/threads:1/real_time", "run_type": "iteration", "real_time": 2.0,
     "time_unit": "ms", "flops": 125e9},
    {"name": "matmul/wick/f32/512/threads:1/real_time", "run_name": "matmul/wick/f32/512/threads:1/real_time",
     "run_type": "iteration", "real_time": 4.0, "time_unit": "ms", "flops": 10e9},
    {"name": "matmul/wick/f32/512/threads:1/real_time", "run_name": "matmul/wick/f32/512/threads:1/real_time",
     "run_type": "iteration", "real_time": 1.0, "time_unit": "ms", "flops": 100e9},
    {"name": "matmul/wick/f32/512/threads:1/real_time_median",
     "run_name": "matmul/wick/f32/512/threads:1/real_time", "run_type": "aggregate", "aggregate_name": "median",
     "real_time": 99.0, "time_unit": "ms", "flops": 1},
    {"name": "softmax/wick/64MiB/threads:1", "run_type": "iteration", "real_time": 10, "time_unit": "ms",
     "bytes_per_second": 18e9},
    {"name": "sum_all/wick/64MiB/threads:1", "run_type": "iteration", "real_time": 10, "time_unit": "ms",
     "bytes_per_second": 19e9},
    {"name": "exp/wick/64MiB/threads:1", "run_type": "iteration", "real_time": 10, "time_unit": "ms",
     "bytes_per_second": 19e9, "label": "stream/read"},
    {"name": "add/wick/64MiB/threads:1", "run_type": "iteration", "real_time": 10, "time_unit": "ms",
     "bytes_per_second": 19e9},
    {"name": "sort/wick/1000/threads:1", "run_type": "iteration", "real_time": 10, "time_unit": "ms",
     "bytes_per_second": 1e9},
    {"name": "softmax/wick/64MiB/threads:2", "run_type": "iteration", "real_time": 10, "time_unit": "ms",
     "bytes_per_second": 18e9},
    {"name": "stream/read/64MiB/threads:1", "run_type": "iteration", "real_time": 10, "time_unit": "ms",
     "bytes_per_second": 19e9},
    {"name": "stream/copy/64MiB/threads:1", "run_type": "iteration", "real_time": 10, "time_unit": "ms",
     "bytes_per_second": 20e9},
    {"name": "limits/fma/threads:1", "run_type": "iteration", "real_time": 10, "time_unit": "ms", "flops": 200e9},
    {"name": "attention/wick/1k/threads:1", "run_type": "iteration", "real_time": 5, "time_unit": "us"},
    {"name": "attention/composed/1k/threads:1", "run_type": "iteration", "real_time": 0.01, "time_unit": "ms"},
    {"name": "matmul/wick/bf16/512/threads:1", "run_type": "iteration", "real_time": 1, "time_unit": "ms",
     "flops": 50e9},
    {"name": "conv/wick/odd/threads:1", "run_type": "iteration", "error_occurred": true, "error_message": "no peer"}
  ]})";

std::vector<BenchRow> rows() { return pair_measurements(parse_measurements(kOutput, "test")); }

BenchRow row(const std::string& name) {
  for (const BenchRow& candidate : rows()) {
    if (candidate.name == name) return candidate;
  }
  ADD_FAILURE() << "no row " << name;
  return {};
}

TEST(BenchmarkName, SplitsOffWhoAndSuffixes) {
  const BenchmarkName name("matmul/wick/f32/512x512/threads:4/repeats:3/real_time");
  EXPECT_EQ(name.what, "matmul");
  EXPECT_EQ(name.who, "wick");
  EXPECT_EQ(name.key, "matmul/f32/512x512/threads:4");
  EXPECT_EQ(name.threads, 4);
  EXPECT_EQ(BenchmarkName("plain").key, "plain");
  EXPECT_EQ(BenchmarkName("plain").threads, 1);
  EXPECT_TRUE(BenchmarkName("stream/copy/threads:1").is_limit());
}

TEST(BenchReport, TakesMediansAndPairsWithThePeer) {
  const BenchRow matmul = row("matmul/f32/512/threads:1");
  EXPECT_EQ(matmul.unit, BenchUnit::kGigaflops);
  EXPECT_DOUBLE_EQ(matmul.value, 90);
  EXPECT_EQ(matmul.peer, "openblas");
  EXPECT_DOUBLE_EQ(matmul.peer_value, 125);
  EXPECT_NEAR(matmul.ratio, 0.72, 1e-9);
  EXPECT_EQ(matmul.goal, 0.95);
}

TEST(BenchReport, HoldsBytesAgainstTheStreamWithAsManyThreads) {
  EXPECT_EQ(row("softmax/64MiB/threads:1").peer, "stream/copy");
  EXPECT_DOUBLE_EQ(row("softmax/64MiB/threads:1").ratio, 0.9);
  EXPECT_EQ(row("softmax/64MiB/threads:2").peer, "");             // nothing measured with two threads
  EXPECT_EQ(row("sum_all/64MiB/threads:1").peer, "stream/read");  // reductions only read
  EXPECT_EQ(row("exp/64MiB/threads:1").peer, "stream/read");      // its label says so
  EXPECT_EQ(row("add/64MiB/threads:1").peer, "stream/copy");      // no triad was measured: the fastest
  EXPECT_EQ(row("softmax/64MiB/threads:1").goal, 0.85);
  EXPECT_EQ(row("sort/1000/threads:1").goal, std::nullopt);
}

TEST(BenchReport, FallsBackToThePeakAndToTimes) {
  EXPECT_EQ(row("matmul/bf16/512/threads:1").peer, "limits/fma");
  EXPECT_DOUBLE_EQ(row("matmul/bf16/512/threads:1").ratio, 0.25);
  const BenchRow attention = row("attention/1k/threads:1");
  EXPECT_EQ(attention.unit, BenchUnit::kMilliseconds);
  EXPECT_NEAR(attention.ratio, 2, 1e-9);  // less time is better
}

TEST(BenchReport, HoldsHalfTypesAgainstF32AndSortsNaturally) {
  const auto found = pair_measurements({{"mm_bf16_nt/wick/1024/threads:1", 1, 90e9, 0, "", ""},
                                        {"mm_f32_nt/wick/1024/threads:1", 1, 100e9, 0, "", ""},
                                        {"mm_f32_nt/wick/256/threads:1", 1, 80e9, 0, "", ""},
                                        {"mm_f32_nt/wick/256/threads:10", 1, 80e9, 0, "", ""},
                                        {"mm_f32_nt/wick/256/threads:2", 1, 80e9, 0, "", ""}});
  ASSERT_EQ(found.size(), 5u);
  EXPECT_EQ(found[0].peer, "wick f32");
  EXPECT_DOUBLE_EQ(found[0].ratio, 0.9);
  EXPECT_EQ(found[0].goal, 0.85);
  EXPECT_EQ(found[1].name, "mm_f32_nt/256/threads:1");
  EXPECT_EQ(found[2].name, "mm_f32_nt/256/threads:2");
  EXPECT_EQ(found[3].name, "mm_f32_nt/256/threads:10");
  EXPECT_EQ(found[4].name, "mm_f32_nt/1024/threads:1");
}

TEST(BenchReport, KeepsErrors) { EXPECT_EQ(row("conv/odd/threads:1").error, "no peer"); }

TEST(BenchReport, PrintsATable) {
  const auto measurements = parse_measurements(kOutput, "test");
  BenchReport report{"0.1.0", "Some CPU", 2, machine_limits(measurements), {}};
  report.rows = {row("matmul/f32/512/threads:1"), row("attention/1k/threads:1"), row("conv/odd/threads:1")};
  EXPECT_EQ(to_text(report, {}),
            "wick 0.1.0 on Some CPU, 2 CPUs\n"
            "  stream, 1 thread: 20.0 GB/s\n"
            "  fma, 1 thread: 200 GFLOP/s\n"
            "\n"
            "case                       wick                   peer            ratio  goal\n"
            "matmul/f32/512/threads:1   90.0  GFLOP/s           125  openblas   0.72  0.95\n"
            "attention/1k/threads:1    0.005  ms              0.010  composed   2.00  1.00\n"
            "conv/odd/threads:1            -  error: no peer\n");
  const auto json = to_json(report);
  EXPECT_EQ(json["rows"].size(), 3u);
  EXPECT_EQ(json["rows"][0]["peer"], "openblas");
  EXPECT_EQ(json["rows"][2]["error"], "no peer");
}

TEST(BenchReport, SaysWhichProgramGaveUnreadableResults) {
  for (const char* text : {"", "{}", "[1, 2", R"({"benchmarks": [{"name": 3}]})"}) {
    try {
      parse_measurements(text, "bench_x");
      ADD_FAILURE() << "accepted: " << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadFile);
      EXPECT_EQ(std::string(error.what()).find("bench_x: "), 0u) << error.what();
    }
  }
}

TEST(BenchSelection, KeepsPeersAndLimits) {
  const std::vector<std::string> names = {"matmul/wick/512/threads:1", "matmul/openblas/512/threads:1",
                                          "matmul/wick/512/threads:2", "softmax/wick/1/threads:1",
                                          "stream/copy/threads:1"};
  BenchOptions options;
  EXPECT_EQ(select_benchmarks(names, options), names);
  options.filter = "matmul/wick";
  options.threads = 1;
  EXPECT_EQ(select_benchmarks(names, options), (std::vector<std::string>{names[0], names[1], names[4]}));
  options.filter = "(";
  EXPECT_THROW(select_benchmarks(names, options), Error);
}

}  // namespace
}  // namespace wick
