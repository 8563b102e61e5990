#pragma once

#include "formats/metadata.h"
#include "formats/tensor_plan.h"

namespace wick {

// Writes a .safetensors file, one tensor in memory at a time: all tensors are declared first, then their data comes in
// any order. The file appears under its name when finish() is called; without it nothing is left. Tensors lie by
// falling size of their elements, so that each is aligned. Throws Error(kIo) when the disk is full or cannot be
// written, Error(kInvalidArgument) for names, dtypes and data that do not fit. Not thread-safe.
class SafetensorsWriter {
 public:
  // `metadata` becomes __metadata__ and may hold text only.
  SafetensorsWriter(const std::filesystem::path& path, std::vector<TensorSpec> tensors, const Metadata& metadata = {});

  void write(std::string_view name, std::span<const std::byte> data) { plan_.write(file_, name, data); }
  void write(std::string_view name, const Tensor& tensor) { plan_.write(file_, name, tensor); }
  // Throws Error(kInvalidArgument) naming a tensor whose data never came.
  void finish();

 private:
  TensorPlan plan_;
  OutputFile file_;
};

struct NamedTensor {
  std::string name;
  Tensor values;  // contiguous on the host
};

// The same as bytes in memory.
std::string safetensors_bytes(std::span<const NamedTensor> tensors, const Metadata& metadata = {});

}  // namespace wick
