#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace wick {

// A stretch of a file that is found as one.
struct Passage {
  int64_t line = 1;  // where it begins
  std::string_view text;
};

// A text in passages of about a thousand bytes, cut at empty lines where there are some, else at the ends of lines,
// sentences or words, and never inside a character. Blank passages are left out.
std::vector<Passage> passages_of(std::string_view text);

struct TextFile {
  std::string path;  // relative to the folder
  int64_t size = 0;
  int64_t changed = 0;  // nanoseconds
};
// The files of a folder that may hold text, by path: none that is hidden or larger than 4 MB, no links.
std::vector<TextFile> text_files(const std::filesystem::path& folder);

}  // namespace wick
