#include "cli/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/error.h"
#include "base/text.h"

namespace wick {
namespace {

using File = std::unique_ptr<FILE, int (*)(FILE*)>;

// A file without a name that goes away when closed: no pipe that could fill up while nobody reads.
File scratch_file() {
  File file(std::tmpfile(), &std::fclose);
  if (!file) throw Error(ErrorCode::kIo, cat("temporary file: ", std::strerror(errno)));
  return file;
}

std::string contents(FILE* file) {
  std::rewind(file);
  std::string text;
  char buffer[1 << 14];
  while (const size_t got = std::fread(buffer, 1, sizeof(buffer), file)) text.append(buffer, got);
  return text;
}

struct FileActions {
  posix_spawn_file_actions_t value;
  FileActions() { posix_spawn_file_actions_init(&value); }
  ~FileActions() { posix_spawn_file_actions_destroy(&value); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
};

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// This process's environment with some variables set anew.
std::vector<std::string> merged_environment(const std::vector<std::string>& changes) {
  std::vector<std::string> result = changes;
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('=') + 1);
    bool changed = false;
    for (const std::string& change : changes) changed = changed || change.starts_with(name);
    if (!changed) result.emplace_back(text);
  }
  return result;
}

}  // namespace

ProcessResult run_process(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                          const std::vector<std::string>& environment) {
  const File output = scratch_file(), errors = scratch_file();
  FileActions actions;
  posix_spawn_file_actions_addopen(&actions.value, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions.value, fileno(output.get()), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions.value, fileno(errors.get()), STDERR_FILENO);

  std::vector<std::string> words = {program.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = merged_environment(environment);
  pid_t child = 0;
  const int problem =
      posix_spawn(&child, program.c_str(), &actions.value, nullptr, pointers(words).data(), pointers(variables).data());
  if (problem != 0) throw Error(ErrorCode::kIo, cat(program, ": cannot start: ", std::strerror(problem)));
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw Error(ErrorCode::kIo, cat(program, ": cannot wait for it: ", std::strerror(errno)));
  }
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return {code, contents(output.get()), contents(errors.get())};
}

bool open_page(const std::string& target) {
  // In the background of a shell, it lives on and need not be waited for.
  constexpr char kScript[] =
      "program=$(command -v xdg-open || command -v open || command -v wslview) || exit 1; "
      "\"$program\" \"$0\" < /dev/null > /dev/null 2>&1 &";
  return run_process("/bin/sh", {"-c", kScript, target}).exit_code == 0;
}

std::filesystem::path executable_folder() {
  std::error_code problem;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", problem);
  if (problem) throw Error(ErrorCode::kIo, cat("/proc/self/exe: ", problem.message()));
  return path.parent_path();
}

}  // namespace wick
