#include "cli/read_text.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "base/error.h"
#include "base/text.h"

namespace wick {
namespace {

// A folder opens, and fails when it is read.
std::string read_all(FILE* file, const std::string& name) {
  std::string text;
  char buffer[1 << 16];
  while (const size_t got = file ? std::fread(buffer, 1, sizeof(buffer), file) : 0) text.append(buffer, got);
  if (!file || std::ferror(file)) throw Error(ErrorCode::kIo, cat(name, ": cannot be read: ", std::strerror(errno)));
  return text;
}

}  // namespace

std::string read_input() { return read_all(stdin, "standard input"); }

std::string read_text(const std::string& path) {
  if (path == "-") return read_input();
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  return read_all(file.get(), path);
}

Json read_json(const std::string& text, std::string_view option) {
  std::error_code ignored;
  const char first = text[std::min(text.find_first_not_of(" \t\r\n"), text.size())];  // or the end, which is 0
  const bool is_json = (first == '{' || first == '[') && !std::filesystem::exists(text, ignored);
  return is_json ? Json::parse(text, option) : Json::load(text);
}

std::string without_last_newline(std::string text) {
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

}  // namespace wick
