#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "formats/checkpoint.h"

namespace wick {

// What the header of one file says, checked against the file's size. Names may still be listed twice: that is found
// when the names of all files come together.
struct FileContents {
  std::vector<TensorEntry> entries;  // by offset
  Metadata metadata;
};

inline void sort_by_offset(std::vector<TensorEntry>& entries) {
  const auto before = [](const TensorEntry& a, const TensorEntry& b) {
    return std::pair(a.offset, a.bytes) < std::pair(b.offset, b.bytes);
  };
  if (!std::is_sorted(entries.begin(), entries.end(), before)) std::stable_sort(entries.begin(), entries.end(), before);
}

inline Error bad_file(const std::filesystem::path& path, const std::string& what) {
  return {ErrorCode::kBadFile, cat(path, ": ", what)};
}

}  // namespace wick
