#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace wick {

// SHA-256 of a file, as the hub lists it for large files; 64 hexadecimal digits.
// `stop` is asked now and then; true ends the work with an empty text. Throws Error(kIo).
std::string sha256_of(const std::filesystem::path& path, const std::function<bool()>& stop = {});

// What git calls a file with these bytes: SHA-1 of "blob <size>" and a zero byte, then the bytes; 40 digits.
std::string git_blob_of(const std::filesystem::path& path, const std::function<bool()>& stop = {});

}  // namespace wick
