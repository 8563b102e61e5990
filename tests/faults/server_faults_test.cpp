// A server at work while one call fails, for one call after the other: who was told that a request is accepted finds it
// in the journal, and the next client is answered as if nothing had been. All allocations would take long: as many as
// WICK_FAULTS says (default 60) are spread over them; 0 is all of them. Each is tried in a process of its own, since
// some end it (nlohmann's JSON allocates where it frees, and a strand of Boost.Asio frees what it could not allocate):
// then what was accepted has to be in the journal.
#include <gtest/gtest.h>

#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>

#include "base/env.h"
#include "faults/fault_hook.h"
#include "support/api_server.h"
#include "support/needs_ember.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

constexpr char kBackground[] = R"({"input": "Hi", "temperature": 0, "background": true, "max_output_tokens": 3})";
constexpr char kPlain[] =
    R"({"messages": [{"role": "user", "content": "Who are you?"}], "temperature": 0, "max_tokens": 4})";
constexpr char kStream[] =
    R"({"messages": [{"role": "user", "content": "Hello"}], "temperature": 0, "max_tokens": 3, "stream": true})";

// A connection that lost its turn for want of memory is closed by its deadline; the test does not wait for long.
HttpServerOptions impatient() {
  HttpServerOptions options;
  options.limits.header_time = options.limits.idle_time = std::chrono::milliseconds(300);
  return options;
}

JournalOptions journal_options(const std::filesystem::path& folder) {
  JournalOptions options;
  options.folder = folder;
  options.compact_from_bytes = 1;
  return options;
}

// Whatever becomes of it: nothing is thrown, an empty answer is none.
HttpAnswer try_request(const ApiServer& server, std::string_view method, std::string_view target,
                       std::string_view body = {}) {
  try {
    return server.client().request(method, target, body);
  } catch (const Error&) {
    return {};
  }
}

// What clients did, and what they were told.
struct Told {
  std::set<std::string> accepted, completed;
  std::ofstream notes;
};

void visit(const ApiServer& server, Told& told) {
  std::string id;
  if (const auto answer = try_request(server, "POST", "/v1/responses", kBackground); answer.status == 200) {
    id = OrderedJson::parse(answer.body)["id"];
    told.accepted.insert(id);
    told.notes << "accepted " << id << std::endl;
  }
  try_request(server, "POST", "/v1/chat/completions", kPlain);
  try_request(server, "POST", "/v1/chat/completions", kStream);
  for (int left = 200; left > 0 && !id.empty(); --left) {
    const auto answer = try_request(server, "GET", cat("/v1/responses/", id));
    if (answer.status != 200) continue;
    const std::string status = OrderedJson::parse(answer.body)["status"];
    if (status != "queued" && status != "in_progress") {
      told.completed.insert(id);
      told.notes << "completed " << id << std::endl;
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void fail_each(FaultKind kind, int error, int64_t most) {
  WICK_NEEDS_EMBER();
  const FaultFree client;  // this thread
  const TempFolder folder;
  const auto path = folder.path() / "journal";
  Told told;
  {
    ApiServer server(EngineOptions(), impatient(), std::make_shared<Journal>(journal_options(path)));
    const std::string right = server.post("/v1/chat/completions", kPlain).body;
    const auto text_of = [](const std::string& body) { return OrderedJson::parse(body)["choices"].dump(); };
    arm_fault(kind, 0);
    visit(server, told);
    disarm_fault();
    const int64_t calls = calls_counted(), step = most > 0 ? std::max<int64_t>(1, calls / most) : 1;
    EXPECT_GT(calls, 2);
    for (int64_t at = 1; at <= calls; at += step) {
      arm_fault(kind, at, error);
      visit(server, told);
      disarm_fault();
      SCOPED_TRACE(cat("call ", at, " of ", calls, ", ", failed_call(), ", errno ", error));
      HttpAnswer after = try_request(server, "POST", "/v1/chat/completions", kPlain);
      ASSERT_EQ(after.status, 200) << after.body;
      ASSERT_EQ(text_of(after.body), text_of(right));
    }
  }
  const Journal journal(journal_options(path));
  for (const std::string& finding : journal.findings()) ADD_FAILURE() << finding;
  for (const std::string& id : told.accepted) EXPECT_TRUE(journal.find(id)) << id << " was accepted and is lost";
  for (const std::string& id : told.completed) {
    const auto entry = journal.find(id);
    EXPECT_TRUE(entry && entry->is_finished()) << id << " was completed and is not";
  }
  EXPECT_GT(told.completed.size(), 0u);
}

constexpr char kFolder[] = "WICK_FAULT_FOLDER", kAt[] = "WICK_FAULT_AT";

// What the process of one fault writes down as it is told it, for whoever looks after it has ended.
TEST(ServerFaults, InAProcessOfItsOwn) {
  const auto folder = env_text(kFolder);
  if (!folder) GTEST_SKIP() << "started by another test";
  const FaultFree client;
  const int64_t at = env_int(kAt, 0, 1'000'000'000).value_or(0);
  ApiServer server(EngineOptions(), impatient(),
                   std::make_shared<Journal>(journal_options(std::filesystem::path(*folder) / "journal")));
  const std::string right = try_request(server, "POST", "/v1/chat/completions", kPlain).body;
  Told told;
  told.notes.open(std::filesystem::path(*folder) / "told");
  arm_fault(FaultKind::kAllocation, at);
  visit(server, told);
  disarm_fault();
  std::ofstream(std::filesystem::path(*folder) / "calls") << calls_counted();
  const HttpAnswer after = try_request(server, "POST", "/v1/chat/completions", kPlain);
  ASSERT_EQ(after.status, 200) << after.body;
  EXPECT_EQ(OrderedJson::parse(after.body)["choices"], OrderedJson::parse(right)["choices"]);
}

// How the process ended; the calls that it counted stand in `calls`, where it came so far.
int run_with_fault(const std::filesystem::path& folder, int64_t at) {
  std::filesystem::create_directories(folder);
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const int status = std::system(cat(kFolder, "=", folder.string(), " ", kAt, "=", at, " ", self,
                                     " --gtest_filter=ServerFaults.InAProcessOfItsOwn > ", folder.string(), "/out 2>&1")
                                     .c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

std::string contents(const std::filesystem::path& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

int64_t most_allocations() { return env_int("WICK_FAULTS", 0, 1'000'000).value_or(60); }

TEST(ServerFaults, Allocations) {
  WICK_NEEDS_EMBER();
  constexpr int kAborted = 128 + SIGABRT;
  const TempFolder folder;
  ASSERT_EQ(run_with_fault(folder.path() / "0", 0), 0) << contents(folder.path() / "0" / "out");
  const int64_t calls = std::stoll(contents(folder.path() / "0" / "calls")), most = most_allocations();
  ASSERT_GT(calls, 1000);
  int ended = 0, tried = 0;
  for (int64_t at = 1; at <= calls; at += most > 0 ? std::max<int64_t>(1, calls / most) : 1) {
    SCOPED_TRACE(cat("allocation ", at, " of ", calls));
    const auto path = folder.path() / cat(at);
    const int status = run_with_fault(path, at);
    ++tried;
    if (status == kAborted) ++ended;
    EXPECT_TRUE(status == 0 || status == kAborted) << status << ": " << contents(path / "out");
    const Journal journal(journal_options(path / "journal"));
    std::istringstream told(contents(path / "told"));
    for (std::string what, id; told >> what >> id;) {
      const auto entry = journal.find(id);
      EXPECT_TRUE(entry) << id << " was accepted and is lost";
      EXPECT_TRUE(what != "completed" || (entry && entry->is_finished())) << id << " was completed and is not";
    }
    std::filesystem::remove_all(path);
  }
  std::cout << ended << " of " << tried << " ended the process\n";
  EXPECT_LT(ended, tried / 4);
}
TEST(ServerFaults, FailingFiles) { fail_each(FaultKind::kFile, EIO, 0); }
TEST(ServerFaults, AFullDisk) { fail_each(FaultKind::kFile, ENOSPC, 0); }
TEST(ServerFaults, ConnectionsThatBreak) { fail_each(FaultKind::kSocket, ECONNRESET, 0); }
TEST(ServerFaults, NoMoreDescriptors) { fail_each(FaultKind::kSocket, EMFILE, 0); }

}  // namespace
}  // namespace wick
