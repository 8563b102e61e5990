#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/mapped_file.h"

namespace wick {

// Where the contents of a stored (not compressed) file lie in a zip archive.
struct ZipEntry {
  int64_t offset = 0, bytes = 0;
};
// All files of an archive by their names, checked against its size. Throws Error(kBadFile) naming the entry at fault,
// Error(kUnsupported) for compressed ones.
std::map<std::string, ZipEntry, std::less<>> read_zip_entries(const MappedFile& file);

}  // namespace wick
