#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/mapped_file.h"

namespace wick {

// An array of NumPy's .npy: what its header says, and its bytes in row-major order, unaligned.
struct NpyArray {
  std::string type;  // "<f4", "|u1", ...
  std::vector<int64_t> dims;
  std::span<const std::byte> bytes;
};

// Versions 1 to 3. Throws Error(kBadFile) naming `path` and what is wrong.
NpyArray read_npy(std::span<const std::byte> bytes, const std::filesystem::path& path);

// The arrays of an .npz by name, which are views of the file. Compressed ones are Error(kUnsupported).
std::vector<std::pair<std::string, NpyArray>> read_npz(const MappedFile& file);

// An .npz with these files, which are not compressed.
std::string npz_bytes(const std::vector<std::pair<std::string, std::string>>& files);

}  // namespace wick
