#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hub/file_lock.h"
#include "tensor/tensor.h"

namespace wick {

// Vectors that were computed before an interruption, in "OUTPUT.part" beside the output: a line that says what of, then
// each as a checksum (CRC-32C) and its numbers. Damaged ones end what counts.
class VectorsSoFar {
 public:
  // `key`: all that the vectors depend on; a file with another one begins anew. Throws Error(kIo) when it cannot be
  // written, or somebody else is writing it.
  VectorsSoFar(const std::filesystem::path& output, uint64_t key, int64_t width, int64_t most);
  ~VectorsSoFar();
  VectorsSoFar(const VectorsSoFar&) = delete;
  VectorsSoFar& operator=(const VectorsSoFar&) = delete;

  int64_t count() const { return static_cast<int64_t>(values_.size()) / width_; }
  Tensor all() const;  // f32 [count, width]
  // Vectors that come next, f32 [n, width], on the host.
  void add(const Tensor& vectors);
  void remove();  // they are in the output now

 private:
  std::filesystem::path path_;
  std::optional<FileLock> lock_;
  int64_t width_;
  std::vector<float> values_;
  int fd_ = -1;
};

}  // namespace wick
