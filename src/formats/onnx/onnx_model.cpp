#include "formats/onnx/onnx_model.h"

#include <cstring>

#include "base/utf8.h"
#include "formats/onnx/protobuf_reader.h"

namespace wick {
namespace {

using Kind = ProtobufReader::Kind;

// Numbers of fields in onnx.proto.
enum ModelField : int64_t {
  kModelIrVersion = 1,
  kModelProducer = 2,
  kModelProducerVersion = 3,
  kModelGraph = 7,
  kModelOpset = 8,
  kModelMetadata = 14,
  kModelFunction = 25,
};
enum GraphField : int64_t {
  kGraphNode = 1,
  kGraphName = 2,
  kGraphInitializer = 5,
  kGraphInput = 11,
  kGraphOutput = 12,
  kGraphValue = 13,
  kGraphSparse = 15,
};
enum NodeField : int64_t {
  kNodeInput = 1,
  kNodeOutput = 2,
  kNodeName = 3,
  kNodeOperator = 4,
  kNodeAttribute = 5,
  kNodeDomain = 7,
  kNodeOverload = 8,
};
enum AttributeField : int64_t {
  kAttributeName = 1,
  kAttributeF = 2,
  kAttributeI = 3,
  kAttributeS = 4,
  kAttributeTensor = 5,
  kAttributeGraph = 6,
  kAttributeFloats = 7,
  kAttributeInts = 8,
  kAttributeStrings = 9,
  kAttributeTensors = 10,
  kAttributeGraphs = 11,
  kAttributeType = 20,
  kAttributeReference = 21,
  kAttributeSparse = 22,
  kAttributeSparses = 23,
};
enum TensorField : int64_t {
  kTensorDims = 1,
  kTensorType = 2,
  kTensorSegment = 3,
  kTensorFloats = 4,
  kTensorInt32s = 5,
  kTensorStrings = 6,
  kTensorInt64s = 7,
  kTensorName = 8,
  kTensorRaw = 9,
  kTensorDoubles = 10,
  kTensorUint64s = 11,
  kTensorExternal = 13,
  kTensorLocation = 14,
};
enum FunctionField : int64_t {
  kFunctionName = 1,
  kFunctionInput = 4,
  kFunctionOutput = 5,
  kFunctionAttribute = 6,
  kFunctionNode = 7,
  kFunctionOpset = 9,
  kFunctionDomain = 10,
  kFunctionDefault = 11,
  kFunctionOverload = 13,
};

constexpr int kMaxDepth = 16;
constexpr size_t kMaxParts = 1 << 20, kMaxName = 1 << 12;

class Reading {
 public:
  void model(OnnxModel& out, ProtobufReader message) {
    bool has_graph = false;
    while (message.next()) {
      if (message.is(kModelIrVersion, Kind::kVarint)) out.ir_version = signed_number(message);
      if (message.is(kModelProducer, Kind::kBytes)) out.producer = text(message);
      if (message.is(kModelProducerVersion, Kind::kBytes)) out.producer_version = text(message);
      if (message.is(kModelOpset, Kind::kBytes)) out.opsets.push_back(opset(message.inside()));
      if (message.is(kModelMetadata, Kind::kBytes)) out.metadata.push_back(entry(message.inside()));
      if (message.is(kModelFunction, Kind::kBytes)) out.functions.push_back(function(message.inside()));
      if (!message.is(kModelGraph, Kind::kBytes)) continue;
      if (has_graph) throw message.bad("the file holds two graphs");
      has_graph = true;
      out.graph = graph(message.inside(), 0);
    }
    if (!has_graph) throw message.bad("the file holds no graph: it is not an ONNX model");
  }

  OnnxTensor tensor(ProtobufReader message) {
    count(message);
    OnnxTensor out;
    const auto add_number = [&](uint64_t number) { out.numbers.push_back(static_cast<int64_t>(number)); };
    while (message.next()) {
      if (message.field() == kTensorDims)
        numbers(message, [&](uint64_t size) {
          if (out.dims.size() == 64) throw message.bad("a tensor has more than 64 dimensions");
          out.dims.push_back(static_cast<int64_t>(size));
        });
      if (message.is(kTensorType, Kind::kVarint)) out.type = static_cast<int32_t>(message.number());
      if (message.is(kTensorSegment, Kind::kBytes)) throw message.bad("a tensor is stored in segments");
      if (message.field() == kTensorFloats && message.kind() != Kind::kVarint) out.runs.push_back(message.bytes());
      if (message.field() == kTensorDoubles && message.kind() != Kind::kVarint) out.runs.push_back(message.bytes());
      if (message.field() == kTensorInt32s) numbers(message, add_number);
      if (message.field() == kTensorInt64s) numbers(message, add_number);
      if (message.field() == kTensorUint64s) numbers(message, add_number);
      if (message.is(kTensorStrings, Kind::kBytes)) out.strings.push_back(message.text());
      if (message.is(kTensorName, Kind::kBytes)) out.name = name(message);
      if (message.is(kTensorRaw, Kind::kBytes)) {
        out.raw = message.bytes();
        out.has_raw = true;
      }
      if (message.is(kTensorExternal, Kind::kBytes)) out.external.push_back(entry(message.inside()));
      if (message.is(kTensorLocation, Kind::kVarint)) out.is_external = message.number() == 1;
    }
    return out;
  }

 private:
  OnnxGraph graph(ProtobufReader message, int depth) {
    if (depth > kMaxDepth) throw message.bad(cat("graphs are nested deeper than ", kMaxDepth));
    count(message);
    OnnxGraph out;
    while (message.next()) {
      if (message.kind() != Kind::kBytes) continue;
      switch (message.field()) {
        case kGraphNode: out.nodes.push_back(node(message.inside(), depth)); break;
        case kGraphName: out.name = message.text(); break;
        case kGraphInitializer: out.initializers.push_back(tensor(message.inside())); break;
        case kGraphSparse: out.sparse_initializers.push_back(sparse(message.inside())); break;
        case kGraphInput: out.inputs.push_back(value_info(message.inside())); break;
        case kGraphOutput: out.outputs.push_back(value_info(message.inside())); break;
        case kGraphValue: out.values.push_back(value_info(message.inside())); break;
        default: break;  // documentation, annotations
      }
    }
    return out;
  }

  OnnxNode node(ProtobufReader message, int depth) {
    count(message);
    OnnxNode out;
    while (message.next()) {
      if (message.kind() != Kind::kBytes) continue;
      switch (message.field()) {
        case kNodeInput: out.inputs.push_back(counted_name(message)); break;
        case kNodeOutput: out.outputs.push_back(counted_name(message)); break;
        case kNodeName: out.name = message.text(); break;
        case kNodeOperator: out.op = name(message); break;
        case kNodeDomain: out.domain = name(message); break;
        case kNodeAttribute: out.attributes.push_back(attribute(message.inside(), depth)); break;
        case kNodeOverload:
          if (!message.text().empty()) throw message.bad("a node names an overload of a function");
          break;
        default: break;
      }
    }
    return out;
  }

  OnnxAttribute attribute(ProtobufReader message, int depth) {
    count(message);
    OnnxAttribute out;
    while (message.next()) {
      if (message.is(kAttributeName, Kind::kBytes)) out.name = name(message);
      if (message.is(kAttributeReference, Kind::kBytes)) out.reference = name(message);
      if (message.is(kAttributeType, Kind::kVarint)) out.type = static_cast<int32_t>(message.number());
      if (message.is(kAttributeI, Kind::kVarint)) out.i = signed_number(message);
      if (message.is(kAttributeF, Kind::kFixed32)) out.f = float_at(message.bytes());
      if (message.is(kAttributeS, Kind::kBytes)) out.s = message.text();
      if (message.field() == kAttributeInts) {
        numbers(message, [&](uint64_t number) { out.ints.push_back(static_cast<int64_t>(number)); });
      }
      if (message.field() == kAttributeFloats && message.kind() != Kind::kVarint) {
        const auto bytes = message.bytes();
        if (bytes.size() % 4 != 0) throw message.bad("a list of floats ends inside one");
        for (size_t at = 0; at < bytes.size(); at += 4) out.floats.push_back(float_at(bytes.subspan(at)));
      }
      if (message.kind() != Kind::kBytes) continue;
      switch (message.field()) {
        case kAttributeStrings: out.strings.push_back(message.text()); break;
        case kAttributeTensor:
        case kAttributeTensors: out.tensors.push_back(tensor(message.inside())); break;
        case kAttributeSparse:
        case kAttributeSparses: out.sparse.push_back(sparse(message.inside())); break;
        case kAttributeGraph:
        case kAttributeGraphs: out.graphs.push_back(graph(message.inside(), depth + 1)); break;
        default: break;
      }
    }
    return out;
  }

  OnnxSparseTensor sparse(ProtobufReader message) {
    OnnxSparseTensor out;
    while (message.next()) {
      if (message.is(1, Kind::kBytes)) out.values = tensor(message.inside());
      if (message.is(2, Kind::kBytes)) out.indices = tensor(message.inside());
      if (message.field() == 3) {
        numbers(message, [&](uint64_t size) { out.dims.push_back(static_cast<int64_t>(size)); });
      }
    }
    return out;
  }

  OnnxValueInfo value_info(ProtobufReader message) {
    count(message);
    OnnxValueInfo out;
    while (message.next()) {
      if (message.is(1, Kind::kBytes)) out.name = name(message);
      if (message.is(2, Kind::kBytes)) out.type = type(message.inside(), 0);
    }
    return out;
  }

  OnnxType type(ProtobufReader message, int depth) {
    if (depth > kMaxDepth) throw message.bad(cat("types are nested deeper than ", kMaxDepth));
    OnnxType out;
    while (message.next()) {
      if (message.kind() != Kind::kBytes) continue;
      switch (message.field()) {
        case 1: tensor_type(message.inside(), out); break;
        case 4: out.kind = OnnxType::Kind::kSequence; break;
        case 9: out.kind = OnnxType::Kind::kOptional; break;
        case 5:
        case 7:
        case 8: out.kind = OnnxType::Kind::kOther; break;  // maps, opaque and sparse ones
        default: continue;
      }
      if (out.kind != OnnxType::Kind::kSequence && out.kind != OnnxType::Kind::kOptional) continue;
      for (ProtobufReader holder = message.inside(); holder.next();) {
        if (holder.is(1, Kind::kBytes)) out.inner = {type(holder.inside(), depth + 1)};
      }
    }
    return out;
  }

  void tensor_type(ProtobufReader message, OnnxType& out) {
    out.kind = OnnxType::Kind::kTensor;
    while (message.next()) {
      if (message.is(1, Kind::kVarint)) out.element = static_cast<int32_t>(message.number());
      if (!message.is(2, Kind::kBytes)) continue;
      out.dims.emplace();
      for (ProtobufReader shape = message.inside(); shape.next();) {
        if (!shape.is(1, Kind::kBytes)) continue;
        if (out.dims->size() == 64) throw shape.bad("a type has more than 64 dimensions");
        OnnxDim dim;
        for (ProtobufReader fields = shape.inside(); fields.next();) {
          if (fields.is(1, Kind::kVarint)) dim.size = signed_number(fields);
          if (fields.is(2, Kind::kBytes)) dim.name = name(fields);
        }
        out.dims->push_back(dim);
      }
    }
  }

  OnnxFunction function(ProtobufReader message) {
    count(message);
    OnnxFunction out;
    while (message.next()) {
      if (message.kind() != Kind::kBytes) continue;
      switch (message.field()) {
        case kFunctionName: out.name = name(message); break;
        case kFunctionDomain: out.domain = name(message); break;
        case kFunctionInput: out.inputs.push_back(counted_name(message)); break;
        case kFunctionOutput: out.outputs.push_back(counted_name(message)); break;
        case kFunctionAttribute: out.attributes.push_back(counted_name(message)); break;
        case kFunctionDefault: out.defaults.push_back(attribute(message.inside(), 0)); break;
        case kFunctionNode: out.nodes.push_back(node(message.inside(), 0)); break;
        case kFunctionOpset: out.opsets.push_back(opset(message.inside())); break;
        case kFunctionOverload:
          if (!message.text().empty()) throw message.bad("a function is an overload");
          break;
        default: break;
      }
    }
    return out;
  }

  OnnxOpset opset(ProtobufReader message) {
    count(message);
    OnnxOpset out;
    while (message.next()) {
      if (message.is(1, Kind::kBytes)) out.domain = name(message);
      if (message.is(2, Kind::kVarint)) out.version = signed_number(message);
    }
    return out;
  }

  std::pair<std::string_view, std::string_view> entry(ProtobufReader message) {
    count(message);
    std::pair<std::string_view, std::string_view> out;
    while (message.next()) {
      if (message.is(1, Kind::kBytes)) out.first = text(message);
      if (message.is(2, Kind::kBytes)) out.second = message.text();
    }
    return out;
  }

  static float float_at(std::span<const std::byte> bytes) {
    float value = 0;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  static int64_t signed_number(const ProtobufReader& at) { return static_cast<int64_t>(at.number()); }

  // A list of numbers comes as one run, or one by one.
  template <typename Add>
  static void numbers(const ProtobufReader& at, Add add) {
    if (at.kind() == Kind::kVarint) add(at.number());
    if (at.kind() != Kind::kBytes) return;
    for (ProtobufReader list = at.inside(); !list.at_end();) add(list.read_varint());
  }

  static std::string_view text(const ProtobufReader& at) {
    if (!is_utf8(at.text())) throw at.bad(cat(in_quotes(at.text()), " is no text"));
    return at.text();
  }
  static std::string_view name(const ProtobufReader& at) {
    if (at.text().size() > kMaxName) throw at.bad(cat("a name has more than ", kMaxName, " bytes"));
    return text(at);
  }
  std::string_view counted_name(const ProtobufReader& at) {
    count(at);
    return name(at);
  }
  void count(const ProtobufReader& at) {
    if (++parts_ > kMaxParts) throw at.bad(cat("the model has more than ", kMaxParts, " parts"));
  }

  size_t parts_ = 0;
};

}  // namespace

const OnnxTensor* find_tensor(const OnnxGraph& graph, std::string_view name) {
  for (const OnnxTensor& tensor : graph.initializers) {
    if (tensor.name == name) return &tensor;
  }
  for (const OnnxNode& node : graph.nodes) {
    if (node.op != "Constant" || node.outputs.empty()) continue;
    for (const OnnxAttribute& attribute : node.attributes) {
      if (attribute.tensors.empty()) continue;
      const OnnxTensor& tensor = attribute.tensors[0];
      if (tensor.name == name || (tensor.name.empty() && node.outputs[0] == name)) return &tensor;
    }
  }
  return nullptr;
}

OnnxModel OnnxModel::open(const std::filesystem::path& path) { return read(MappedFile::open(path)); }

OnnxModel OnnxModel::read(std::shared_ptr<const MappedFile> file) {
  OnnxModel model;
  Reading().model(model, ProtobufReader(file->bytes(), file->path()));
  model.file = std::move(file);
  return model;
}

OnnxValue read_onnx_value(const MappedFile& file, OnnxType::Kind kind) {
  ProtobufReader message(file.bytes(), file.path());
  OnnxValue value;
  if (kind == OnnxType::Kind::kTensor) {
    value.tensors.push_back(Reading().tensor(message));
    return value;
  }
  const auto sequence = [&](ProtobufReader at) {
    value.is_sequence = true;
    while (at.next()) {
      if (at.is(3, Kind::kBytes)) value.tensors.push_back(Reading().tensor(at.inside()));
    }
  };
  if (kind == OnnxType::Kind::kSequence) {
    sequence(message);
    return value;
  }
  value.is_empty = true;
  while (message.next()) {
    if (message.kind() != Kind::kBytes) continue;
    if (message.field() == 3) value.tensors.push_back(Reading().tensor(message.inside()));
    if (message.field() == 5) sequence(message.inside());
    if (message.field() == 3 || message.field() == 5) value.is_empty = false;
  }
  return value;
}

}  // namespace wick
