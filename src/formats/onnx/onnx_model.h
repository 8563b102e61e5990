#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mapped_file.h"

namespace wick {

// What an ONNX file says, as it is stored: names and values are views of the mapped file. Every length is checked
// against what holds it; nesting and counts are limited. What it means is src/graph's business.

struct OnnxTensor {
  std::string_view name;
  std::vector<int64_t> dims;
  int32_t type = 0;  // TensorProto.DataType
  // Values are in one of these.
  std::span<const std::byte> raw;                // little-endian, unaligned
  std::vector<std::span<const std::byte>> runs;  // float_data or double_data: little-endian, in order
  std::vector<int64_t> numbers;                  // int32_data, int64_data or uint64_data
  std::vector<std::string_view> strings;
  std::vector<std::pair<std::string_view, std::string_view>> external;  // location, offset, length
  bool has_raw = false, is_external = false;
};

struct OnnxSparseTensor {
  OnnxTensor values, indices;
  std::vector<int64_t> dims;
};

// A dimension has a size, or a name, or neither.
struct OnnxDim {
  std::optional<int64_t> size;
  std::string_view name;
};

struct OnnxType {
  enum class Kind : uint8_t { kNone, kTensor, kSequence, kOptional, kOther };
  Kind kind = Kind::kNone;
  int32_t element = 0;                       // of a tensor
  std::optional<std::vector<OnnxDim>> dims;  // of a tensor; empty: any rank
  std::vector<OnnxType> inner;               // of a sequence or an optional: one
};

struct OnnxValueInfo {
  std::string_view name;
  OnnxType type;
};

struct OnnxGraph;

struct OnnxAttribute {
  std::string_view name, reference;  // reference: of the attribute of a function that stands here
  int32_t type = 0;                  // AttributeProto.AttributeType; 0 where old files have none
  std::optional<int64_t> i;
  std::optional<float> f;
  std::optional<std::string_view> s;
  std::vector<int64_t> ints;
  std::vector<float> floats;
  std::vector<std::string_view> strings;
  std::vector<OnnxTensor> tensors;  // the field `t`, or the list
  std::vector<OnnxSparseTensor> sparse;
  std::vector<OnnxGraph> graphs;
};

struct OnnxNode {
  std::string_view name, op, domain;
  std::vector<std::string_view> inputs, outputs;  // an empty name: not there
  std::vector<OnnxAttribute> attributes;
};

struct OnnxGraph {
  std::string_view name;
  std::vector<OnnxNode> nodes;
  std::vector<OnnxTensor> initializers;
  std::vector<OnnxSparseTensor> sparse_initializers;
  std::vector<OnnxValueInfo> inputs, outputs, values;
};

// An initialiser or the value of a Constant node of this graph, not of those inside it. Null: there is none.
const OnnxTensor* find_tensor(const OnnxGraph& graph, std::string_view name);

struct OnnxOpset {
  std::string_view domain;
  int64_t version = 0;
};

struct OnnxFunction {
  std::string_view name, domain;
  std::vector<std::string_view> inputs, outputs, attributes;
  std::vector<OnnxAttribute> defaults;  // attributes that have one
  std::vector<OnnxNode> nodes;
  std::vector<OnnxOpset> opsets;
};

struct OnnxModel {
  std::shared_ptr<const MappedFile> file;  // what the views point into
  int64_t ir_version = 0;
  std::string_view producer, producer_version;
  std::vector<OnnxOpset> opsets;
  std::vector<std::pair<std::string_view, std::string_view>> metadata;
  OnnxGraph graph;
  std::vector<OnnxFunction> functions;

  // Throw Error(kBadFile) naming the byte.
  static OnnxModel open(const std::filesystem::path& path);
  static OnnxModel read(std::shared_ptr<const MappedFile> file);
};

// A file of one value, as the tests of ONNX have them: TensorProto, SequenceProto or OptionalProto.
struct OnnxValue {
  std::vector<OnnxTensor> tensors;  // one, or those of the sequence
  bool is_sequence = false, is_empty = false;
};
OnnxValue read_onnx_value(const MappedFile& file, OnnxType::Kind kind);

}  // namespace wick
