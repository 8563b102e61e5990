#include "cli/chat/prompt_lines.h"

#include <fstream>

#include "base/error.h"
#include "base/text.h"

namespace wick {

std::vector<std::string> read_lines(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ErrorCode::kIo, cat(path, ": cannot be read"));
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty()) lines.push_back(std::move(line));
  }
  if (file.bad()) throw Error(ErrorCode::kIo, cat(path, ": cannot be read"));
  if (lines.empty()) throw Error(ErrorCode::kInvalidArgument, cat(path, ": there is no line with text"));
  return lines;
}

}  // namespace wick
