// `wick pull` as a user runs it, and the other commands with the name of what it brought.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/text.h"
#include "cli/process.h"
#include "hub/fake_hub.h"
#include "support/places.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

class PullProgram : public testing::Test {
 protected:
  void SetUp() override {
    if (!WICK_HAS_CURL) GTEST_SKIP() << "this build has no libcurl";
  }
  void add_fixture(const std::string& name) {
    for (const auto& entry : fs::directory_iterator(fs::path(WICK_SOURCE_DIR) / "tests/fixtures" / name)) {
      hub.add(entry.path().filename(), read(entry.path()));
    }
  }
  ProcessResult wick(std::vector<std::string> arguments) { return run_process(WICK_PROGRAM, arguments, environment()); }
  std::vector<std::string> environment() {
    return {cat("HF_ENDPOINT=", hub.endpoint(), "/"), cat("HF_HUB_CACHE=", folder_.path().string()),
            cat("HF_HOME=", folder_.path().string()), "HF_TOKEN=hf_test",

            "no_proxy=*"};
  }

  FakeHub hub;
  TempFolder folder_;
};

TEST_F(PullProgram, EveryCommandTakesTheName) {
  add_fixture("llama");
  const ProcessResult before = wick({"inspect", "org/tiny"});
  EXPECT_EQ(before.exit_code, 1);
  EXPECT_TRUE(contains(before.errors, "`wick pull org/tiny` would get it")) << before.errors;

  const ProcessResult pulled = wick({"pull", "org/tiny"});
  EXPECT_EQ(pulled.exit_code, 0) << pulled.errors;
  const fs::path path = folder_.path() / "models--org--tiny/snapshots" / hub.commit;
  EXPECT_EQ(pulled.output, path.string() + "\n");
  EXPECT_TRUE(contains(pulled.errors, "Use it:  wick chat org/tiny")) << pulled.errors;
  for (const auto& request : hub.requests()) {
    EXPECT_EQ(request.authorization, request.to_storage ? "" : "Bearer hf_test");
  }
  EXPECT_EQ(wick({"inspect", "org/tiny"}).output, wick({"inspect", path}).output);
  const ProcessResult verified =
      wick({"verify", "org/tiny", "--reference", cat(WICK_SOURCE_DIR, "/tests/fixtures/llama/reference.safetensors")});
  EXPECT_EQ(verified.exit_code, 0) << verified.output << verified.errors;
  EXPECT_EQ(wick({"quantize", "org/tiny", folder_.path() / "x.gguf", "--type", "auto"}).exit_code, 0);
  EXPECT_TRUE(contains(wick({"inspect", "org/tinny"}).errors, "(there is org/tiny)"));
  EXPECT_EQ(wick({"pull", "org/tiny", "--quiet"}).errors, "");
}

TEST_F(PullProgram, ReportsAsJson) {
  add_fixture("llama");
  const ProcessResult pulled = wick({"pull", "org/tiny", "--json", "--include", "*.json", "--include", "mod*"});
  EXPECT_EQ(pulled.exit_code, 0) << pulled.errors;
  const auto report = nlohmann::json::parse(pulled.output);
  EXPECT_EQ(report.at("model"), "org/tiny");
  EXPECT_EQ(report.at("commit"), hub.commit);
  int64_t bytes = 0;
  for (const auto& file : report.at("files")) {
    EXPECT_FALSE(file.at("was_there").get<bool>());
    bytes += file.at("bytes").get<int64_t>();
  }
  EXPECT_EQ(report.at("downloaded_bytes"), bytes);
  EXPECT_GT(bytes, 10'000);
}

TEST_F(PullProgram, ListsGgufFilesToChooseFrom) {
  hub.add("m-Q4_K_M.gguf", std::string(1500, 'a'));
  hub.add("m-Q8_0.gguf", std::string(2048, 'b'));
  const ProcessResult asked = wick({"pull", "org/tiny"});
  EXPECT_EQ(asked.exit_code, 1);
  EXPECT_EQ(asked.output, "");
  EXPECT_EQ(asked.errors,
            "wick: org/tiny: choose one of its 2 models:\n"
            "  wick pull org/tiny:Q4_K_M  1.5 KiB\n"
            "  wick pull org/tiny:Q8_0      2 KiB\n");
  EXPECT_EQ(wick({"pull", "org/tiny:Q8_0"}).exit_code, 0);
}

TEST_F(PullProgram, AKilledProcessIsGoneOnFrom) {
  const std::string weights(200'000, 'w');
  hub.add("model.safetensors", weights);
  hub.wrong.cuts_all = true;
  hub.wrong.cut_after = 5000;
  std::vector<std::string> settings = environment();
  std::vector<char*> variables;
  for (std::string& setting : settings) variables.push_back(setting.data());
  variables.push_back(nullptr);
  std::string words[] = {"wick", "pull", "org/tiny"};
  char* const arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  const pid_t child = fork();
  if (child == 0) {
    close(STDOUT_FILENO);
    execve(WICK_PROGRAM, arguments, variables.data());
    _exit(127);
  }
  // The second request comes when the first 5,000 bytes are on the disk.
  while (hub.file_requests().size() < 2 && waitpid(child, nullptr, WNOHANG) == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  hub.change([&] { hub.wrong.cuts_all = false; });
  const ProcessResult pulled = wick({"pull", "org/tiny", "--json"});
  ASSERT_EQ(pulled.exit_code, 0) << pulled.errors;
  const auto report = nlohmann::json::parse(pulled.output);
  const auto downloaded = report.at("downloaded_bytes").get<int64_t>();
  EXPECT_LE(downloaded, 195'000);
  EXPECT_EQ(downloaded % 5000, 0);
  EXPECT_TRUE(read(report.at("path").get<fs::path>() / "model.safetensors") == weights);
}

TEST_F(PullProgram, SaysWhatIsWrong) {
  EXPECT_TRUE(contains(wick({"pull", "../x"}).errors, "'../x': is no name of a model"));
  EXPECT_TRUE(contains(wick({"pull", "org/other"}).errors, "org/other: there is no such model at http://127.0.0.1"));
  EXPECT_EQ(wick({"pull", "org/tiny", "--jobs", "0"}).exit_code, 2);
  EXPECT_EQ(wick({"pull"}).exit_code, 2);
  const ProcessResult result = run_process(WICK_PROGRAM, {"pull", "org/tiny"}, {"HF_HUB_OFFLINE=1"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.errors, "wick: HF_HUB_OFFLINE is set: nothing is downloaded\n");
}

}  // namespace
}  // namespace wick
