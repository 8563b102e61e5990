#include "server/http/request_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <string_view>

#include "base/error.h"
#include "base/json_write.h"
#include "base/text.h"
#include "server/http/utc_time.h"
#include "server/http/valid_text.h"

namespace wick {
namespace {

void append_member(std::string& out, std::string_view name, std::string_view text) {
  out += cat(",\"", name, "\":");
  append_json_text(out, valid_text(text));
}

}  // namespace

RequestLog::RequestLog(const std::filesystem::path& path, Bodies bodies) : bodies_(bodies) {
  owned_ = path != "-";
  const mode_t mode = wants_bodies() ? 0600 : 0640;
  fd_ = owned_ ? open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, mode) : STDERR_FILENO;
  if (fd_ < 0) throw Error(ErrorCode::kIo, cat(path, ": cannot be opened for the log: ", std::strerror(errno)));
  struct stat facts {};
  const bool is_file = owned_ && fstat(fd_, &facts) == 0 && S_ISREG(facts.st_mode);
  if (!is_file || !wants_bodies() || (facts.st_mode & 0077) == 0) return;
  if (fchmod(fd_, facts.st_mode & 0700) == 0) return;
  const int reason = errno;
  close(fd_);
  throw Error(ErrorCode::kIo,
              cat(path, ": others may read what is asked, and that cannot be changed: ", std::strerror(reason)));
}

RequestLog::~RequestLog() {
  if (owned_) close(fd_);
}

void RequestLog::write(const LogEntry& entry) {
  std::string line = cat("{\"time\":\"", utc_time(entry.time, 3), "\",\"id\":", entry.id);
  append_member(line, "client", entry.client);
  append_member(line, "key", entry.key_name);
  append_member(line, "method", entry.method);
  append_member(line, "path", entry.path);
  line += cat(",\"status\":", entry.status, ",\"bytes_in\":", entry.bytes_in, ",\"bytes_out\":", entry.bytes_out,
              ",\"seconds\":", static_cast<double>(static_cast<int64_t>(entry.seconds * 1e6)) / 1e6,
              ",\"complete\":", entry.complete);
  if (wants_bodies()) {
    append_member(line, "request_body", std::string_view(entry.request_body).substr(0, kMaxBody));
    append_member(line, "response_body", std::string_view(entry.response_body).substr(0, kMaxBody));
  }
  line += "}\n";
  const std::lock_guard lock(mutex_);
  for (std::string_view rest = line; !rest.empty();) {
    const ssize_t written = ::write(fd_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return;  // a full disk must not stop the server, and there is nobody to tell
    rest.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace wick
