#pragma once

#include <string>
#include <vector>

#include "base/output_file.h"
#include "formats/checkpoint.h"

namespace wick {

// A .safetensors file that grows tensor by tensor, for captures whose number and sizes are not known before. The room
// for its header is set aside first and filled up with spaces, which the format allows. Not thread-safe.
class SpillFile {
 public:
  // Room for `most_tensors` whose names are at most `longest_name` bytes.
  SpillFile(const std::filesystem::path& path, size_t most_tensors, size_t longest_name);

  void append(const std::string& name, const Tensor& f32);  // throws Error(kIo) when the disk is full
  int64_t bytes() const { return written_; }
  // Puts the file under its name and opens it.
  Checkpoint finish();

 private:
  struct Item {
    std::string name;
    Shape shape;
    int64_t begin, end;
  };

  OutputFile file_;
  int64_t header_bytes_;
  int64_t written_ = 0;
  std::vector<Item> items_;
};

}  // namespace wick
