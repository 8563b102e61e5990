#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/output_file.h"
#include "tensor/tensor.h"

namespace wick {

// A tensor that a writer knows of before its data comes.
struct TensorSpec {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
};

// Where the tensors of a file under construction lie, and which of them have been written. What the writers share.
class TensorPlan {
 public:
  struct Item {
    TensorSpec spec;
    int64_t bytes = 0;
    int64_t offset = 0;  // in the file
    bool written = false;
  };

  // Throws Error(kInvalidArgument) for a name given twice, names that are not UTF-8, and shapes that do not divide into
  // the dtype's blocks.
  TensorPlan(std::vector<TensorSpec> specs, const std::filesystem::path& path);

  std::vector<Item>& items() { return items_; }
  // Writes the data of a tensor to its place. Throws Error(kInvalidArgument) unless it is one of the plan, of that
  // many bytes, and not written yet.
  void write(OutputFile& file, std::string_view name, std::span<const std::byte> data);
  void write(OutputFile& file, std::string_view name, const Tensor& tensor);
  // Throws Error(kInvalidArgument) naming the first tensor that is missing.
  void check_complete(const OutputFile& file) const;

 private:
  Item& find(const OutputFile& file, std::string_view name);

  std::vector<Item> items_;
  std::unordered_map<std::string, size_t> places_;
};

}  // namespace wick
