#include "formats/onnx/onnx_tensors.h"

#include <algorithm>
#include <cstring>

#include "base/utf8.h"
#include "formats/onnx/protobuf_reader.h"
#include "tensor/create.h"

namespace wick {
namespace {

using Kind = ProtobufReader::Kind;

// Numbers of fields in onnx.proto.
enum ModelField : int64_t { kModelIrVersion = 1, kModelGraph = 7 };
enum GraphField : int64_t { kGraphNode = 1, kGraphInitializer = 5 };
enum NodeField : int64_t { kNodeOutput = 2, kNodeOperator = 4, kNodeAttribute = 5 };
enum AttributeField : int64_t { kAttributeName = 1, kAttributeTensor = 5, kAttributeGraph = 6, kAttributeGraphs = 11 };
enum TensorField : int64_t {
  kTensorDims = 1,
  kTensorType = 2,
  kTensorFloats = 4,
  kTensorName = 8,
  kTensorRaw = 9,
};

constexpr int kMaxDepth = 16;
constexpr size_t kMaxTensors = 1 << 17, kMaxBranches = 1 << 12, kMaxName = 1 << 12, kMaxBranchName = 64;

std::optional<DType> dtype_of(uint64_t type) {
  switch (type) {
    case 1: return DType::kF32;
    case 2: return DType::kU8;
    case 3: return DType::kI8;
    case 6: return DType::kI32;
    case 7: return DType::kI64;
    case 10: return DType::kF16;
    case 11: return DType::kF64;
    case 16: return DType::kBF16;
    default: return std::nullopt;
  }
}

class Walk {
 public:
  Walk(std::vector<OnnxTensor>& entries, std::deque<std::string>& branches) : entries_(entries), branches_(branches) {}

  void model(ProtobufReader message) {
    bool has_graph = false;
    while (message.next()) {
      if (!message.is(kModelGraph, Kind::kBytes)) continue;
      has_graph = true;
      graph(message.inside(), "", 0);
    }
    if (!has_graph) throw message.bad("the file holds no graph: it is not an ONNX model");
  }

 private:
  void graph(ProtobufReader message, std::string_view branch, int depth) {
    if (depth > kMaxDepth) throw message.bad(cat("graphs are nested deeper than ", kMaxDepth));
    while (message.next()) {
      if (message.is(kGraphNode, Kind::kBytes)) node(message.inside(), branch, depth);
      if (message.is(kGraphInitializer, Kind::kBytes)) add(tensor(message.inside()), branch, message);
    }
  }

  void node(ProtobufReader message, std::string_view branch, int depth) {
    std::string_view output, operation;
    for (ProtobufReader fields = message; fields.next();) {
      if (fields.is(kNodeOutput, Kind::kBytes) && output.empty()) output = fields.text();
      if (fields.is(kNodeOperator, Kind::kBytes)) operation = fields.text();
    }
    while (message.next()) {
      if (message.is(kNodeAttribute, Kind::kBytes)) attribute(message.inside(), branch, depth, output, operation);
    }
  }

  void attribute(ProtobufReader message, std::string_view branch, int depth, std::string_view output,
                 std::string_view operation) {
    std::string_view name;
    for (ProtobufReader fields = message; fields.next();) {
      if (fields.is(kAttributeName, Kind::kBytes)) name = fields.text();
    }
    while (message.next()) {
      const bool is_graph = message.is(kAttributeGraph, Kind::kBytes) || message.is(kAttributeGraphs, Kind::kBytes);
      if (is_graph) {
        if (name.size() > kMaxBranchName || branches_.size() == kMaxBranches) {
          throw message.bad("a graph inside another has too long a name, or there are too many");
        }
        branches_.push_back(branch.empty() ? std::string(name) : cat(branch, "/", name));
        graph(message.inside(), branches_.back(), depth + 1);
      } else if (operation == "Constant" && message.is(kAttributeTensor, Kind::kBytes)) {
        OnnxTensor constant = tensor(message.inside());
        if (constant.name.empty()) constant.name = named(output, message);
        add(std::move(constant), branch, message);
      }
    }
  }

  static OnnxTensor tensor(ProtobufReader message) {
    OnnxTensor out;
    std::vector<int64_t> sizes;
    const auto add_size = [&](uint64_t size) {
      if (sizes.size() == static_cast<size_t>(kMaxRank) || size > static_cast<uint64_t>(INT64_MAX)) {
        throw message.bad(cat("a tensor has a size of ", size, " as number ", sizes.size() + 1, " of its shape"));
      }
      sizes.push_back(static_cast<int64_t>(size));
    };
    while (message.next()) {
      if (message.is(kTensorDims, Kind::kVarint)) add_size(message.number());
      if (message.is(kTensorDims, Kind::kBytes)) {
        for (ProtobufReader list = message.inside(); !list.at_end();) add_size(list.read_varint());
      }
      if (message.is(kTensorType, Kind::kVarint)) out.dtype = dtype_of(message.number());
      if (message.is(kTensorName, Kind::kBytes)) out.name = named(message.text(), message);
      // Floats in one run are the same bytes.
      const bool raw = message.is(kTensorRaw, Kind::kBytes) || message.is(kTensorFloats, Kind::kBytes);
      if (raw) out.bytes = message.bytes();
    }
    try {
      out.shape = Shape(std::span<const int64_t>(sizes));
    } catch (const Error& error) {
      throw message.bad(cat("tensor ", in_quotes(out.name), ": ", error.what()));
    }
    return out;
  }

  static std::string_view named(std::string_view name, const ProtobufReader& at) {
    if (name.size() > kMaxName || !is_utf8(name)) throw at.bad(cat(in_quotes(name), " is no name for a tensor"));
    return name;
  }

  void add(OnnxTensor tensor, std::string_view branch, const ProtobufReader& at) {
    if (entries_.size() == kMaxTensors) throw at.bad(cat("there are more than ", kMaxTensors, " tensors"));
    tensor.branch = branch;
    entries_.push_back(std::move(tensor));
  }

  std::vector<OnnxTensor>& entries_;
  std::deque<std::string>& branches_;
};

}  // namespace

OnnxTensors OnnxTensors::open(const std::filesystem::path& path) { return read(MappedFile::open(path)); }

OnnxTensors OnnxTensors::read(std::shared_ptr<const MappedFile> file) {
  OnnxTensors tensors;
  tensors.branches_ = std::make_shared<std::deque<std::string>>();
  Walk(tensors.entries_, *tensors.branches_).model(ProtobufReader(file->bytes(), file->path()));
  tensors.file_ = std::move(file);
  return tensors;
}

const OnnxTensor* OnnxTensors::find(std::string_view branch, std::string_view name) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const OnnxTensor& entry) {
    return entry.branch == branch && entry.name == name;
  });
  return found == entries_.end() ? nullptr : &*found;
}

Tensor OnnxTensors::get(std::string_view branch, std::string_view name) const {
  const OnnxTensor* entry = find(branch, name);
  const auto bad = [&](ErrorCode code, const std::string& what) {
    return Error(code, cat(file_->path(), ": tensor ", in_quotes(name), " ", what));
  };
  if (!entry) throw bad(ErrorCode::kBadFile, branch.empty() ? "is missing" : cat("is missing in ", in_quotes(branch)));
  if (!entry->dtype) throw bad(ErrorCode::kUnsupported, "is of a type that Wick does not have");
  const int64_t elements = entry->shape.numel(), bytes = std::ssize(entry->bytes), size = bytes_of(*entry->dtype, 1);
  if (bytes == 0 && elements > 0) throw bad(ErrorCode::kUnsupported, "is not stored as plain bytes in this file");
  if (bytes % size != 0 || bytes / size != elements) {
    throw bad(ErrorCode::kBadFile,
              cat("is ", *entry->dtype, " ", entry->shape, ", but has ", entry->bytes.size(), " bytes"));
  }
  Tensor copy = empty(entry->shape, *entry->dtype);
  if (bytes > 0) std::memcpy(copy.raw(), entry->bytes.data(), entry->bytes.size());
  return copy;
}

}  // namespace wick
