#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace wick {

// What was typed before, kept in a file that only its owner can read. Problems with the file are not errors: then
// nothing is kept.
class LineHistory {
 public:
  static constexpr size_t kMost = 1000;  // entries

  // ${XDG_STATE_HOME:-~/.local/state}/wick/history; empty when there is no home.
  static std::filesystem::path default_path();

  explicit LineHistory(std::filesystem::path path);  // empty: not kept

  const std::vector<std::string>& entries() const { return entries_; }  // oldest first
  // Not when it is empty or the same as the last one.
  void add(const std::string& entry);

 private:
  void rewrite() const;

  std::filesystem::path path_;
  std::vector<std::string> entries_;
};

// Writes a file that only its owner can read, all at once, and makes its folder. Problems are not errors.
void write_private(const std::filesystem::path& path, std::string_view text);

}  // namespace wick
