#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "formats/onnx/onnx_model.h"
#include "graph/ir.h"

namespace wick::graph {

// The newest version of ai.onnx that Wick knows; a newer one may mean something else by the same names.
inline constexpr int64_t kNewestOpset = 25;

struct Imported {
  Graph graph;
  std::map<std::string, int64_t, std::less<>> opsets;  // by domain
  int64_t ir_version = 0;
  std::string producer;
  int64_t weight_bytes = 0, copied_bytes = 0;  // of constants in the file; those that could not stay where they are
};

// The graph of a model: names resolved, functions expanded where they are called, constants as tensors. Those whose
// bytes are aligned in the file, or in a file beside it, are not copied. Throws Error(kBadFile) or Error(kUnsupported)
// naming the tensor or the node.
Imported import_onnx(const OnnxModel& model);

// The files beside a model that its tensors lie in: no path leads out of the model's folder and no two tensors share
// bytes.
class ExternalFiles {
 public:
  explicit ExternalFiles(std::filesystem::path model) : model_(std::move(model)) {}
  // The bytes of a tensor that says where it is. `size`: what its shape and type take.
  std::pair<std::span<const std::byte>, std::shared_ptr<const MappedFile>> find(const OnnxTensor& tensor, int64_t size);
  void check_overlaps() const;

 private:
  struct Range {
    int64_t begin, end;
    std::string tensor;
  };
  struct File {
    std::shared_ptr<const MappedFile> mapped;
    std::vector<Range> ranges;
  };
  std::filesystem::path model_;
  std::map<std::string, File, std::less<>> files_;
};

// A tensor of a file as a value. `owner` keeps the bytes alive. `external` may be null: then there are no other files.
Value read_tensor(const OnnxTensor& tensor, const std::shared_ptr<const MappedFile>& owner, ExternalFiles* external);
ValueType read_type(const OnnxType& type);

}  // namespace wick::graph
