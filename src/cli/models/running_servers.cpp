#include "cli/models/running_servers.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/read_text.h"

namespace wick {
namespace fs = std::filesystem;
namespace {

// Whether nobody holds it any more, so that the file is of a process that was killed.
bool is_left_over(const fs::path& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return false;
  const bool is_free = flock(fd, LOCK_SH | LOCK_NB) == 0;
  close(fd);
  return is_free;
}

}  // namespace

fs::path server_notes_folder() {
  if (const auto runtime = env_text("XDG_RUNTIME_DIR")) return fs::path(*runtime) / "wick";
  if (const auto state = env_text("XDG_STATE_HOME")) return fs::path(*state) / "wick" / "servers";
  if (const auto home = env_text("HOME")) return fs::path(*home) / ".local" / "state" / "wick" / "servers";
  return {};
}

ServerNote::ServerNote(const RunningServer& server) {
  const fs::path folder = server_notes_folder();
  if (folder.empty()) return;
  std::error_code ignored;
  fs::create_directories(folder.parent_path(), ignored);
  mkdir(folder.c_str(), S_IRWXU);
  path_ = folder / cat(server.process, ".json");
  // What another process left under this number goes; the new file is locked before it says anything.
  fs::remove(path_, ignored);
  fd_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd_ < 0) return;
  flock(fd_, LOCK_EX | LOCK_NB);
  const nlohmann::ordered_json note = {
      {"process", server.process}, {"url", server.url}, {"models", server.models}, {"since", server.since}};
  const std::string text = note.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  [[maybe_unused]] const ssize_t written = write(fd_, text.data(), text.size());
}

ServerNote::~ServerNote() {
  if (fd_ < 0) return;
  unlink(path_.c_str());
  close(fd_);
}

std::vector<RunningServer> running_servers() {
  std::vector<RunningServer> servers;
  const fs::path folder = server_notes_folder();
  if (folder.empty()) return servers;
  std::error_code problem, ignored;
  for (fs::directory_iterator at(folder, problem), end; !problem && at != end; at.increment(problem)) {
    const fs::path& path = at->path();
    if (path.extension() != ".json") continue;
    if (is_left_over(path)) {
      fs::remove(path, ignored);
      continue;
    }
    try {
      const Json note = Json::load(path);
      servers.push_back({note.at("process").as_int(), note.at("url").as_text(),
                         note.at("models").to<std::vector<std::string>>(), note.at("since").as_int()});
    } catch (const Error&) {
      continue;  // being written now, or gone
    }
  }
  std::sort(servers.begin(), servers.end(), [](const auto& a, const auto& b) { return a.process < b.process; });
  return servers;
}

}  // namespace wick
