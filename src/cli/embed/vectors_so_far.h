#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hub/file_lock.h"
#include "tensor/tensor.h"

namespace wick {

// What vectors of a model depend on: which one, as its files are, and how it is computed (FNV-1a).
uint64_t model_key(const std::filesystem::path& model, std::string_view quantize, std::string_view device);
uint64_t add_to_key(uint64_t key, std::string_view part);

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
