#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "support/api_server.h"
#include "support/places.h"
#include "support/sanitized.h"

namespace wick {

// The program as a process of its own. Whatever happens, it does not outlive this object.
class ServeProcess {
 public:
  // What it writes goes to `folder`/output. `environment` holds NAME=value settings.
  ServeProcess(const std::filesystem::path& folder, const std::vector<std::string>& options,
               std::vector<std::string> environment = {}) {
    const std::string output = (folder / "output").string();
    std::vector<std::string> words = {WICK_PROGRAM, "serve", "--port", "0", "--kv-memory", "64MiB"};
    words.insert(words.end(), options.begin(), options.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const int fd = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(fd, STDOUT_FILENO);
      dup2(fd, STDERR_FILENO);
      for (std::string& setting : environment) putenv(setting.data());
      execv(WICK_PROGRAM, arguments.data());
      _exit(127);
    }
    close(fd);
    for (int i = 0; i < kSlowness * 1000 && port_ == 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      std::ifstream in(output);
      output_.assign(std::istreambuf_iterator<char>(in), {});
      const size_t at = output_.find("127.0.0.1:"), end = output_.find('\n', at);
      if (at != std::string::npos && end != std::string::npos) port_ = std::stoi(output_.substr(at + 10, end - at));
      if (waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = -1, i = kSlowness * 1000;
    }
    if (port_ != 0) return;
    kill_it();
    throw Error(ErrorCode::kIo, cat("wick serve does not start: ", output_));
  }
  ~ServeProcess() { kill_it(); }
  void kill_it() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

  const std::string& output() const { return output_; }  // up to the line that tells the port
  HttpAnswer request(std::string_view method, std::string_view target, std::string_view body = {},
                     const HttpClient::Fields& fields = {}) const {
    return HttpClient(static_cast<uint16_t>(port_)).request(method, target, body, fields);
  }
  OrderedJson json(std::string_view method, std::string_view target, std::string_view body = {}) const {
    const HttpAnswer answer = request(method, target, body);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return OrderedJson::parse(answer.body);
  }
  int64_t metric(const std::string& name) const {
    const std::string text = request("GET", "/metrics").body;
    const size_t at = text.find(cat("\n", name, " "));
    return at == std::string::npos ? 0 : std::stoll(text.substr(at + name.size() + 2));
  }

 private:
  pid_t pid_ = -1;
  int port_ = 0;
  std::string output_;
};

}  // namespace wick
