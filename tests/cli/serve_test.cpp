// `wick serve` as a user starts and ends it; what it answers is tested in tests/server.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/process.h"
#include "support/places.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

ProcessResult serve(const std::vector<std::string>& options) {
  std::vector<std::string> arguments = {"serve"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  return run_process(WICK_PROGRAM, arguments);
}

TEST(Serve, AModelThatIsNotThereIsOneSentence) {
  const ProcessResult result = serve({"/no/such/model"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.errors,
            "wick: '/no/such/model': there is no such file or folder. MODEL is a Hugging Face folder, a .gguf or a "
            ".safetensors file, Org/Name, or NAME=MODEL\n");
}

TEST(Serve, NamesAreDifferent) {
  const ProcessResult result = serve({"a=ember", "a=ember"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.errors.find("two models are called 'a'"), std::string::npos) << result.errors;
}

TEST(Serve, APortThatIsTakenIsOneSentence) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const ProcessResult result = serve({"--port", cat(ntohs(address.sin_port))});
  close(listener);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.output, "");
  EXPECT_NE(result.errors.find(cat(ntohs(address.sin_port), ": Address already in use\n")), std::string::npos)
      << result.errors;
}

TEST(Serve, OptionsThatBelongTogether) {
  EXPECT_EQ(serve({"--tls-cert", "x"}).exit_code, 2);
  EXPECT_EQ(serve({"--log-contents"}).exit_code, 2);
  EXPECT_EQ(serve({"--speculate", "lookup", "--draft", "ember"}).exit_code, 2);
  EXPECT_EQ(serve({"--port", "70000"}).exit_code, 2);
  EXPECT_EQ(serve({"--journal-hours", "3"}).exit_code, 2);
}

TEST(Serve, SaysWhereItIsAndEndsWhenAsked) {
  // Ends by itself when it never says where it is: the loop gives up after ten seconds.
  const std::string script = cat("out=$(mktemp); ", WICK_PROGRAM,
                                 " serve --port 0 --kv-memory 64MiB > \"$out\" & pid=$!; "
                                 "for i in $(seq 100); do grep -q 'is ready' \"$out\" && break; sleep 0.1; done; "
                                 "kill -TERM $pid; wait $pid; code=$?; cat \"$out\"; rm \"$out\"; exit $code");
  const ProcessResult result = run_process("/bin/sh", {"-c", script});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_NE(result.output.find("serves ember at http://127.0.0.1:"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("context 4096 tokens, 64 MiB for keys and values"), std::string::npos) << result.output;
}

// A server is listed while it runs, and not when it was killed.
TEST(Serve, IsListedWhileItRuns) {
  const TempFolder folder;
  const std::string state = cat("XDG_RUNTIME_DIR=", folder.path().string());
  const auto result = run_process("/bin/sh",
                                  {"-c",
                                   cat("\"$0\" serve --port 0 --preload none named=ember > ", folder.path().string(),
                                       "/out & p=$!; for i in $(seq 100); do \"$0\" ps --json | grep -q named && "
                                       "break; sleep 0.1; done; \"$0\" ps --json; stat -c %a $XDG_RUNTIME_DIR/wick/*; "
                                       "kill -9 $p; wait $p 2> /dev/null; \"$0\" ps"),
                                   WICK_PROGRAM},
                                  {state});
  EXPECT_NE(result.output.find("http://127.0.0.1:"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("\n600\n"), std::string::npos) << result.output;
  EXPECT_TRUE(result.output.ends_with("No server runs; wick serve starts one.\n")) << result.output << result.errors;
  EXPECT_TRUE(std::filesystem::is_empty(folder.path() / "wick"));
}

TEST(Serve, WarnsWhoLetsEverybodyIn) {
  const auto errors_of = [](const std::string& options) {
    const std::string script = cat("out=$(mktemp); ", WICK_PROGRAM, " serve --preload none --port 0 ", options,
                                   " > \"$out\" & pid=$!; "
                                   "for i in $(seq 100); do grep -q serves \"$out\" && break; "
                                   "kill -0 $pid 2> /dev/null || break; sleep 0.1; done; "
                                   "kill -TERM $pid 2> /dev/null; wait $pid; rm \"$out\"");
    return run_process("/bin/sh", {"-c", script}).errors;
  };
  EXPECT_NE(errors_of("--host 0.0.0.0").find("may use it, since there are no --api-keys"), std::string::npos);
  EXPECT_EQ(errors_of("--allow-host wick.example"), "");
  EXPECT_NE(errors_of("--allow-host http://wick.example").find("allowed host 'http://wick.example'"),
            std::string::npos);
}

TEST(Serve, ReadsItsKeysAgainWhenToldTo) {
  const std::string script =
      cat("dir=$(mktemp -d); cd \"$dir\"; echo old > keys; ", WICK_PROGRAM,
          " serve --preload none --port 0 --api-keys keys > out 2> err & pid=$!; "
          "await() { for i in $(seq 100); do grep -qs \"$2\" $1 && return; sleep 0.1; done; }; "
          "await out serves; echo new > keys; kill -HUP $pid; await out 'Read the API keys again'; "
          "echo 'not a key' > keys; kill -HUP $pid; await err 'stay as they were'; "
          "kill -TERM $pid; wait $pid; code=$?; cat out; cat err >&2; cd /; rm -r \"$dir\"; exit $code");
  const ProcessResult result = run_process("/bin/sh", {"-c", script});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_NE(result.output.find("Read the API keys again"), std::string::npos) << result.output;
  EXPECT_EQ(
      result.errors,
      "wick: keys: line 1: behind the key stands something else than connections=N, requests=N, tokens=N, weight=X, "
      "priority=low|normal|high|critical or cache=own|shared; the API keys stay as they were\n");
}

}  // namespace
}  // namespace wick
