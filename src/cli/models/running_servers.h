#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace wick {

// A `wick serve` of this user on this machine.
struct RunningServer {
  int64_t process = 0;
  std::string url;
  std::vector<std::string> models;
  int64_t since = 0;  // Unix seconds
};

// While it lives, running_servers() finds this process: a file that only its owner can read, locked as long as the
// process lives, so that one that was killed is not taken for a running one. Where such a file cannot be made, the
// server runs all the same and is not found.
class ServerNote {
 public:
  explicit ServerNote(const RunningServer& server);
  ~ServerNote();
  ServerNote(const ServerNote&) = delete;
  ServerNote& operator=(const ServerNote&) = delete;

 private:
  std::filesystem::path path_;
  int fd_ = -1;
};

// By process. Removes what those that were killed have left.
std::vector<RunningServer> running_servers();

// ${XDG_RUNTIME_DIR}/wick, else ${XDG_STATE_HOME:-~/.local/state}/wick/servers; empty when there is no home.
std::filesystem::path server_notes_folder();

}  // namespace wick
