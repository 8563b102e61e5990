#include "support/pseudo_terminal.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace wick {
namespace {

constexpr int kPatience = 30'000;  // milliseconds: a sanitizer on a busy machine is slow

}  // namespace

PseudoTerminal::PseudoTerminal(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                               const std::vector<std::string>& environment, int columns) {
  std::vector<std::string> words = {program.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  std::vector<std::string> settings = environment;
  winsize size{};
  size.ws_row = 24;
  size.ws_col = static_cast<unsigned short>(columns);
  child_ = forkpty(&terminal_, nullptr, nullptr, &size);
  if (child_ != 0) return;
  setenv("TERM", "xterm", 1);
  unsetenv("NO_COLOR");
  for (std::string& setting : settings) putenv(setting.data());
  execv(program.c_str(), pointers.data());
  _exit(127);
}

PseudoTerminal::~PseudoTerminal() {
  if (child_ > 0) {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  if (terminal_ >= 0) close(terminal_);
}

void PseudoTerminal::type(std::string_view keys) {
  while (!keys.empty()) {
    const ssize_t count = write(terminal_, keys.data(), keys.size());
    ASSERT_GT(count, 0);
    keys.remove_prefix(static_cast<size_t>(count));
  }
}

bool PseudoTerminal::read_more() {
  pollfd waiting{terminal_, POLLIN, 0};
  if (poll(&waiting, 1, kPatience) <= 0) return false;  // at the program's end there is something to read, too
  char bytes[4096];
  const ssize_t count = read(terminal_, bytes, sizeof(bytes));
  if (count <= 0) return false;
  seen_.append(bytes, static_cast<size_t>(count));
  return true;
}

std::string PseudoTerminal::wait_for(std::string_view part) {
  size_t at = seen_.find(part, done_);
  while (at == std::string::npos) {
    if (!read_more()) {
      ADD_FAILURE() << "'" << part << "' did not come; got:\n" << seen_.substr(done_);
      return {};
    }
    at = seen_.find(part, done_);
  }
  const size_t begin = done_;
  done_ = at + part.size();
  return seen_.substr(begin, done_ - begin);
}

int PseudoTerminal::wait() {
  while (read_more()) {
  }
  int status = 0;
  int waited = 0;  // its terminal may be closed a moment before it is gone
  while (waitpid(child_, &status, WNOHANG) == 0 && waited < kPatience) {
    usleep(10'000);
    waited += 10;
  }
  if (waited >= kPatience) {
    ADD_FAILURE() << "it does not end; got:\n" << seen_.substr(done_);
    kill(child_, SIGKILL);
    waitpid(child_, &status, 0);
  }
  child_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace wick
