#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "formats/checkpoint.h"

namespace wick {

// What the header of one file says, checked against the file's size.
struct FileContents {
  std::vector<TensorEntry> entries;  // by offset
  Metadata metadata;
};

inline Error bad_file(const std::filesystem::path& path, const std::string& what) {
  return {ErrorCode::kBadFile, cat(path, ": ", what)};
}

}  // namespace wick
