#include "cli/terminal/line_history.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/env.h"
#include "base/utf8.h"
#include "tokenizer/stages/code_points.h"

namespace wick {
namespace fs = std::filesystem;
namespace {

// One entry per line of the file: line breaks as \n, backslashes as \\.
std::string escaped(std::string_view entry) {
  std::string line;
  for (const char c : entry) {
    if (c == '\\') {
      line += "\\\\";
    } else if (c == '\n') {
      line += "\\n";
    } else {
      line += c;
    }
  }
  return line + "\n";
}

std::string unescaped(std::string_view line) {
  std::string entry;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\' && i + 1 < line.size()) {
      entry += line[++i] == 'n' ? '\n' : line[i];
    } else {
      entry += line[i];
    }
  }
  return is_utf8(entry) ? entry : replace_invalid_utf8(entry);
}

void append(const fs::path& path, std::string_view text, int flags) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, S_IRUSR | S_IWUSR);
  if (fd < 0) return;
  // One write, so that two programs do not mix their lines. What does not fit the disk is lost.
  [[maybe_unused]] const ssize_t written = write(fd, text.data(), text.size());
  close(fd);
}

}  // namespace

fs::path LineHistory::default_path() {
  if (const auto state = env_text("XDG_STATE_HOME")) return fs::path(*state) / "wick" / "history";
  if (const auto home = env_text("HOME")) return fs::path(*home) / ".local" / "state" / "wick" / "history";
  return {};
}

LineHistory::LineHistory(fs::path path) : path_(std::move(path)) {
  if (path_.empty()) return;
  std::error_code ignored;
  const fs::path folder = path_.parent_path();
  fs::create_directories(folder.parent_path(), ignored);
  mkdir(folder.c_str(), S_IRWXU);
  std::ifstream file(path_, std::ios::binary);
  for (std::string line; std::getline(file, line);) entries_.push_back(unescaped(line));
  if (entries_.size() <= kMost) return;
  entries_.erase(entries_.begin(), entries_.end() - kMost);
  rewrite();
}

void LineHistory::rewrite() const {
  std::string all;
  for (const std::string& entry : entries_) all += escaped(entry);
  write_private(path_, all);
}

void write_private(const fs::path& path, std::string_view text) {
  std::error_code ignored;
  fs::create_directories(path.parent_path().parent_path(), ignored);
  mkdir(path.parent_path().c_str(), S_IRWXU);
  fs::path fresh = path;
  fresh += ".new";
  append(fresh, text, O_TRUNC);
  fs::rename(fresh, path, ignored);
}

void LineHistory::add(const std::string& entry) {
  if (entry.empty() || (!entries_.empty() && entries_.back() == entry)) return;
  entries_.push_back(entry);
  if (entries_.size() > kMost) entries_.erase(entries_.begin());
  if (!path_.empty()) append(path_, escaped(entry), O_APPEND);
}

}  // namespace wick
