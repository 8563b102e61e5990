#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "tensor/tensor.h"

namespace wick {

// A tensor with its values inside an ONNX file: an initialiser, or the value of a Constant node. Valid as long as the
// OnnxTensors it comes from, or a copy of that.
struct OnnxTensor {
  // Where its graph is: the names of the attributes that hold graphs, outermost first: "then_branch/else_branch" is the
  // second branch of an If in the first branch of one. Empty: the model's own graph.
  std::string_view branch;
  std::string_view name;  // its own, else that of the node's output
  Shape shape;
  std::optional<DType> dtype;        // empty: one that Wick does not have
  std::span<const std::byte> bytes;  // unaligned; empty: stored in another way (numbers one by one, or another file)
};

// The tensors of an ONNX file, without its computation. Every length in the file is checked against what holds it, so
// that everything listed is inside the file; nesting and counts are limited. Throws Error(kBadFile) naming the byte.
class OnnxTensors {
 public:
  static OnnxTensors open(const std::filesystem::path& path);
  static OnnxTensors read(std::shared_ptr<const MappedFile> file);

  const std::vector<OnnxTensor>& entries() const { return entries_; }
  const OnnxTensor* find(std::string_view branch, std::string_view name) const;  // null: not there
  // A copy. Throws Error(kBadFile) when there is none of that name, or its size contradicts its shape;
  // Error(kUnsupported) when its values are not stored as plain bytes.
  Tensor get(std::string_view branch, std::string_view name) const;

 private:
  std::shared_ptr<const MappedFile> file_;
  std::shared_ptr<std::deque<std::string>> branches_;  // what the entries' views point to
  std::vector<OnnxTensor> entries_;
};

}  // namespace wick
