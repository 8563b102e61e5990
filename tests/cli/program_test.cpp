// Runs the real program.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "cli/process.h"
#include "engine/ember.h"
#include "support/fixtures.h"
#include "support/places.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

ProcessResult wick(const std::vector<std::string>& arguments, const std::vector<std::string>& environment = {}) {
  return run_process(WICK_PROGRAM, arguments, environment);
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// A disk that is full must not look like success.
TEST(Program, OutputThatCannotBeWrittenIsAFailure) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  std::vector<std::string> commands = {"models",       "models --json",
                                       "--help",       "--version",
                                       "embed --help", cat("inspect ", fixture_folders("qwen3").front().string())};
  if (has_ember()) {
    for (const char* more : {"run ember -p hello -n 2", "doctor --json"}) commands.emplace_back(more);
  }
  for (const std::string& command : commands) {
    const auto full = run_process("/bin/sh", {"-c", cat(WICK_PROGRAM, " ", command, " > /dev/full")}, {});
    EXPECT_EQ(full.exit_code, 1) << command;
    EXPECT_NE(full.errors.find("standard output cannot be written"), std::string::npos) << command << full.errors;
    const auto good = run_process("/bin/sh", {"-c", cat(WICK_PROGRAM, " ", command, " > /dev/null")}, {});
    EXPECT_EQ(good.exit_code, 0) << command;
  }
}

TEST(Program, HelpIsACommandToo) {
  EXPECT_EQ(wick({"help", "bench", "ops"}).output, wick({"bench", "ops", "--help"}).output);
  EXPECT_EQ(wick({"help"}).output, wick({"--help"}).output);
  EXPECT_EQ(wick({"-V"}).output, wick({"--version"}).output);
  const auto wrong = wick({"help", "xylophone"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_TRUE(contains(wrong.errors, "there is no command 'xylophone'")) << wrong.errors;
  // Nobody is there to talk to.
  const auto alone = wick({});
  EXPECT_EQ(alone.exit_code, 2);
  EXPECT_EQ(alone.errors, wick({"--help"}).output);
}

TEST(Program, NamesTheCommandThatIsNear) {
  const auto near = run_process(WICK_PROGRAM, {"transcrib", "talk.wav"}, {});
  EXPECT_EQ(near.exit_code, 2);
  EXPECT_NE(near.errors.find("there is no command 'transcrib'; did you mean 'transcribe'?"), std::string::npos)
      << near.errors;
  const auto far = run_process(WICK_PROGRAM, {"xylophone"}, {});
  EXPECT_EQ(far.errors.find("did you mean"), std::string::npos) << far.errors;
}

TEST(Program, ShowsItsVersion) {
  const auto result = wick({"--version"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.output, "wick " WICK_VERSION "\n");
}

TEST(Program, HelpNamesEveryCommandAndGivesExamples) {
  const auto help = wick({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  for (const char* word : {"run", "chat", "serve", "doctor", "inspect", "quantize", "tokenize", "template", "bench",
                           "models", "verify", "perplexity", "--version"})
    EXPECT_TRUE(contains(help.output, word)) << word;
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"doctor", "--help"}, {"bench", "ops", "--help"}, {"template", "--help"}}) {
    const auto result = wick(words);
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_TRUE(contains(result.output, "Examples:")) << result.output;
  }
}

TEST(Program, DoctorFindsThisMachineSound) {
  const auto result = wick({"doctor"});
  EXPECT_EQ(result.exit_code, 0) << result.output << result.errors;
  for (const char* part : {"wick " WICK_VERSION, "threads", "chosen", "cpu", " kernels", "matmul", "ok"}) {
    EXPECT_TRUE(contains(result.output, part)) << part << " in\n" << result.output;
  }
  EXPECT_FALSE(contains(result.output, "failed")) << result.output;
  EXPECT_FALSE(contains(result.output, "\033")) << "escape codes in a pipe";
  EXPECT_EQ(result.errors, "");
}

TEST(Program, DoctorJsonSaysTheSame) {
  const auto result = wick({"doctor", "--json"}, {"WICK_THREADS=3"});
  ASSERT_EQ(result.exit_code, 0) << result.output << result.errors;
  const auto report = nlohmann::json::parse(result.output);
  EXPECT_EQ(report.at("version"), WICK_VERSION);
  EXPECT_EQ(report.at("threads"), 3);
  EXPECT_EQ(report.at("ok"), true);
  EXPECT_EQ(report.at("devices").at(0).at("name"), "cpu");
  EXPECT_EQ(report.at("devices").at(0).at("missing_kernels").size(), 0u);
  const auto supported = report.at("instruction_sets").at("supported").get<std::vector<std::string>>();
  const std::string chosen = report.at("instruction_sets").at("chosen");
  EXPECT_EQ(std::count(supported.begin(), supported.end(), chosen), 1) << chosen;
  EXPECT_GE(report.at("checks").size(), 6u);
  for (const auto& check : report.at("checks")) EXPECT_EQ(check.at("ok"), true) << check;
}

TEST(Program, DoctorSaysWhichCheckFailed) {
  const auto result = wick({"doctor"}, {"TMPDIR=/nowhere/at/all"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(contains(result.output, "failed  ")) << result.output;
}

TEST(Program, WrongUsageIsTwo) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{},
                                                {"unknown"},
                                                {"--unknown"},
                                                {"doctor", "--unknown"},
                                                {"doctor", "extra"},
                                                {"bench"},
                                                {"bench", "model.gguf", "--random", "qwen3-0.6b"},
                                                {"bench", "--random", "qwen3-0.7b"},
                                                {"bench", "--random", "qwen3-0.6b", "--type", "q9"},
                                                {"bench", "model.gguf", "--save", "x.gguf"},
                                                {"bench", "model.gguf", "--pg", "512"},
                                                {"bench", "model.gguf", "-p", "0", "-n", "0"},
                                                {"bench", "model.gguf", "--kv", "q4_0"},
                                                {"bench", "ops", "--threads", "0"},
                                                {"bench", "ops", "--threads", "two"}}) {
    const auto result = wick(words);
    EXPECT_EQ(result.exit_code, 2) << (words.empty() ? "(nothing)" : words.back());
    EXPECT_EQ(result.output, "");
    EXPECT_NE(result.errors, "");
  }
}

TEST(Program, NamesACommandThatIsNotThere) {
  EXPECT_TRUE(contains(wick({"sing"}).errors, "wick: there is no command 'sing'"));
  EXPECT_TRUE(contains(wick({"bench", "opz"}).errors, "'opz': "));  // a model may have any name
}

TEST(Program, BadSettingIsOneSentence) {
  const auto result = wick({"doctor"}, {"WICK_THREADS=abc"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.output, "");
  EXPECT_EQ(result.errors, "wick: WICK_THREADS='abc': expected a whole number from 1 to 1024\n");
}

// The program alone in a folder, where a test can put benchmark programs beside it.
class BenchOps : public testing::Test {
 protected:
  BenchOps() : folder_(fs::temp_directory_path() / ("wick-bench-" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
    fs::copy_file(WICK_PROGRAM, folder_ / "wick", fs::copy_options::overwrite_existing);
  }
  ~BenchOps() override { fs::remove_all(folder_); }

  // A program that lists `names`, and otherwise prints `results`.
  void add_program(const std::string& names, const std::string& results) {
    const fs::path path = folder_ / "bench_fake";
    std::ofstream(path) << "#!/bin/sh\ncase \"$*\" in *list_tests*) printf '" << names << "';; *) cat <<'EOT'\n"
                        << results << "\nEOT\nesac\n";
    fs::permissions(path, fs::perms::owner_all);
  }
  ProcessResult bench(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"bench", "ops"});
    return run_process(folder_ / "wick", arguments);
  }

  fs::path folder_;
};

TEST_F(BenchOps, SaysHowToBuildTheProgramsWhenThereAreNone) {
  const auto result = bench({});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.output, "");
  EXPECT_TRUE(contains(result.errors, "make bench")) << result.errors;
  EXPECT_EQ(std::count(result.errors.begin(), result.errors.end(), '\n'), 1) << result.errors;
}

TEST_F(BenchOps, PrintsTheComparison) {
  add_program("op/wick/a/threads:1\\nop/peer/a/threads:1\\n", R"({"benchmarks": [
      {"name": "op/wick/a/threads:1", "real_time": 2, "time_unit": "ms"},
      {"name": "op/peer/a/threads:1", "real_time": 3, "time_unit": "ms"}]})");
  const auto text = bench({"--quick"});
  EXPECT_EQ(text.exit_code, 0) << text.errors;
  EXPECT_TRUE(contains(text.output, "op/a/threads:1")) << text.output;
  EXPECT_FALSE(contains(text.output, "\033"));
  const auto report = nlohmann::json::parse(bench({"--json"}).output);
  EXPECT_EQ(report.at("rows").at(0).at("peer"), "peer");
  EXPECT_EQ(report.at("rows").at(0).at("ratio"), 1.5);
}

TEST_F(BenchOps, SaysWhatDoesNotMatchOrFails) {
  add_program("op/wick/a/threads:1\\n", "not JSON");
  EXPECT_TRUE(contains(bench({"--filter", "nothing"}).errors, "no case of Wick's that matches --filter 'nothing'"));
  EXPECT_TRUE(contains(bench({"--filter", "("}).errors, "not a regular expression"));
  const auto result = bench({});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(contains(result.errors, "bench_fake: its benchmark results cannot be read")) << result.errors;
}

TEST(Process, PassesArgumentsEnvironmentAndExitCode) {
  const auto result =
      run_process("/bin/sh", {"-c", "echo \"$1 $NAME\"; echo problem >&2; exit 7", "sh", "a b"}, {"NAME=x"});
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_EQ(result.output, "a b x\n");
  EXPECT_EQ(result.errors, "problem\n");
  EXPECT_EQ(run_process("/bin/sh", {"-c", "kill -9 $$"}).exit_code, 137);
  EXPECT_THROW(run_process("/no/such/program", {}), Error);
}

}  // namespace
}  // namespace wick
