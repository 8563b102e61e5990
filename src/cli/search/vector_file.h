#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace wick {

// Vectors of one length in a file, by number: a head of 64 bytes, then f32 [count, width].
class VectorFile {
 public:
  // Begins anew when the file is another's: `key` says what the vectors are of. Throws Error(kIo).
  VectorFile(const std::filesystem::path& path, uint64_t key, int64_t width);
  ~VectorFile();
  VectorFile(const VectorFile&) = delete;
  VectorFile& operator=(const VectorFile&) = delete;

  int64_t count() const { return count_; }  // those there is room for; what nobody wrote is zeros
  void write(int64_t number, std::span<const float> vector);
  void flush();  // to the disk

  // The numbers of the vectors nearest to one, the nearest first, with their products; exact. Only those for which
  // `counts` is true.
  struct Near {
    int64_t number = 0;
    double product = 0;
  };
  std::vector<Near> nearest(std::span<const float> to, size_t most, const std::vector<bool>& counts) const;

 private:
  std::filesystem::path path_;
  int64_t width_ = 0, count_ = 0;
  int fd_ = -1;
};

}  // namespace wick
