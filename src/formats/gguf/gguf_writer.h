#pragma once

#include "formats/metadata.h"
#include "formats/tensor_plan.h"

namespace wick {

// The bytes of a GGUF file in front of its data.
struct GgufLayout {
  std::string header;
  int64_t bytes = 0;  // of the whole file
};
// Gives each tensor its place in the file. `path` is for messages. Throws as GgufWriter does.
GgufLayout lay_out_gguf(const std::filesystem::path& path, const Metadata& metadata, TensorPlan& plan);

// Writes a GGUF file, version 3, one tensor in memory at a time: all tensors are declared first, then their data comes
// in any order. The file appears under its name when finish() is called; without it nothing is left. Throws Error(kIo)
// when the disk is full or cannot be written, Error(kInvalidArgument) for what llama.cpp would refuse to read (dtypes
// GGUF lacks, names of 64 bytes or more, more than 4 dimensions, arrays inside arrays) and for data that does not fit.
// Not thread-safe.
class GgufWriter {
 public:
  // Metadata is written in its order, arrays as they are. 'general.alignment' is obeyed when it is there, else 32.
  GgufWriter(const std::filesystem::path& path, const Metadata& metadata, std::vector<TensorSpec> tensors);

  void write(std::string_view name, std::span<const std::byte> data) { plan_.write(file_, name, data); }
  void write(std::string_view name, const Tensor& tensor) { plan_.write(file_, name, tensor); }
  // Throws Error(kInvalidArgument) naming a tensor whose data never came.
  void finish();

 private:
  TensorPlan plan_;
  OutputFile file_;
};

}  // namespace wick
