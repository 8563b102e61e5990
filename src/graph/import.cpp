#include "graph/import.h"

#include <algorithm>
#include <set>

#include "base/utf8.h"
#include "tensor/create.h"

namespace wick::graph {
namespace {

constexpr int kMaxDepth = 24;                // of graphs and functions in each other
constexpr size_t kMaxNodes = 1 << 18;        // after functions are expanded
constexpr int64_t kMaxAttributes = 1 << 30;  // bytes of all attributes, then
constexpr int64_t kMaxSparse = 1 << 28;      // bytes of a sparse tensor once it is not

using Opsets = std::map<std::string, int64_t, std::less<>>;
using AttributeRefs = std::map<std::string_view, const OnnxAttribute*>;

std::string_view usual_domain(std::string_view domain) { return domain == "ai.onnx" ? "" : domain; }

Opsets read_opsets(const std::vector<OnnxOpset>& entries) {
  Opsets opsets;
  for (const OnnxOpset& entry : entries) opsets[std::string(usual_domain(entry.domain))] = entry.version;
  return opsets;
}

// The names that can be seen from one place. Functions see none of where they are called.
struct Scope {
  Graph* graph;
  Scope* outer = nullptr;
  const Opsets* opsets = nullptr;
  const AttributeRefs* references = nullptr;  // in a function: the attributes of its call
  std::string prefix;                         // of the names of nodes in a function
  int depth = 0;
  std::map<std::string_view, ValueId, std::less<>> names = {};
};

class Importer {
 public:
  explicit Importer(const OnnxModel& model) : model_(model), external_(model.file->path()) {
    for (const OnnxFunction& function : model.functions) {
      functions_[{std::string(usual_domain(function.domain)), std::string(function.name)}] = &function;
    }
  }

  Imported run() {
    Imported out;
    out.opsets = read_opsets(model_.opsets);
    if (out.opsets.find("") == out.opsets.end()) {
      // The first files name no version; others whose nodes are all of other domains need none.
      out.opsets[""] = model_.ir_version < 3 ? 1 : kNewestOpset;
    }
    const int64_t version = out.opsets[""];
    if (version < 1 || version > kNewestOpset) {
      throw Error(ErrorCode::kUnsupported,
                  cat("the model is of opset ", version, " of ai.onnx; Wick knows 1 to ", kNewestOpset));
    }
    out.ir_version = model_.ir_version;
    out.producer = cat(in_quotes(model_.producer));
    Scope scope{&out.graph, nullptr, &out.opsets};
    read_graph(model_.graph, scope);
    external_.check_overlaps();
    out.weight_bytes = weight_bytes_;
    out.copied_bytes = copied_bytes_;
    return out;
  }

 private:
  void read_graph(const OnnxGraph& from, Scope& scope) {
    if (scope.depth > kMaxDepth)
      throw Error(ErrorCode::kBadFile, cat("graphs and functions lie deeper than ", kMaxDepth));
    Graph& graph = *scope.graph;
    graph.name = from.name;
    for (const OnnxTensor& tensor : from.initializers) {
      add_constant(scope, tensor.name, read_tensor_value(tensor));
    }
    for (const OnnxSparseTensor& tensor : from.sparse_initializers) {
      add_constant(scope, tensor.values.name, read_sparse(tensor));
    }
    for (const OnnxValueInfo& input : from.inputs) {
      // Old files list initialisers among the inputs.
      if (const auto known = scope.names.find(input.name); known != scope.names.end()) {
        if (!graph.values[known->second].is_constant) {
          throw Error(ErrorCode::kBadFile, cat("the graph has two inputs ", in_quotes(input.name)));
        }
        continue;
      }
      const ValueId id = graph.add_value(std::string(input.name));
      graph.values[id].type = read_type(input.type);
      scope.names[input.name] = id;
      graph.inputs.push_back(id);
    }
    read_nodes(from.nodes, scope);
    for (const OnnxValueInfo& value : from.values) {
      const auto known = scope.names.find(value.name);
      if (known != scope.names.end()) graph.values[known->second].type = read_type(value.type);
    }
    for (const OnnxValueInfo& output : from.outputs) {
      const ValueId id = find(scope, output.name);
      if (id == kAbsent) {
        throw Error(ErrorCode::kBadFile, cat("the graph's output ", in_quotes(output.name), " is given by no node"));
      }
      graph.outputs.push_back(id);
      if (!graph.values[id].type.known) graph.values[id].type = read_type(output.type);
    }
    sort_nodes(graph);
  }

  void read_nodes(const std::vector<OnnxNode>& nodes, Scope& scope) {
    for (const OnnxNode& node : nodes) {
      for (const std::string_view output : node.outputs) {
        if (!output.empty()) declare(scope, node, output);
      }
    }
    for (const OnnxNode& node : nodes) add_node(node, scope);
  }

  void declare(Scope& scope, const OnnxNode& node, std::string_view output) {
    if (const auto known = scope.names.find(output); known != scope.names.end()) {
      // What a function gives is declared by who calls it.
      if (given_.insert({scope.graph, known->second}).second &&
          outputs_of_call_.contains({scope.graph, known->second})) {
        return;
      }
      throw Error(ErrorCode::kBadFile, cat("node ", in_quotes(node.name), " (", in_quotes(node.op), ") gives ",
                                           in_quotes(output), ", which is there already"));
    }
    const ValueId id = scope.graph->add_value(cat(scope.prefix, output));
    scope.names[output] = id;
    given_.insert({scope.graph, id});
  }

  void add_constant(Scope& scope, std::string_view name, Value value) {
    if (name.empty()) throw Error(ErrorCode::kBadFile, "an initialiser has no name");
    if (scope.names.contains(name))
      throw Error(ErrorCode::kBadFile, cat("there are two initialisers ", in_quotes(name)));
    const ValueId id = scope.graph->add_value(std::string(name));
    scope.graph->values[id].constant = std::move(value);
    scope.graph->values[id].is_constant = true;
    scope.names[name] = id;
  }

  // kAbsent: nobody has it.
  ValueId find(Scope& scope, std::string_view name) {
    if (const auto known = scope.names.find(name); known != scope.names.end()) return known->second;
    if (!scope.outer) return kAbsent;
    const ValueId outer = find(*scope.outer, name);
    if (outer == kAbsent) return kAbsent;
    if (scope.outer->graph == scope.graph) return outer;  // a function's own scope
    const ValueId inner = scope.graph->add_value(std::string(name));
    scope.graph->captures.push_back({outer, inner});
    scope.names[name] = inner;
    return inner;
  }

  void add_node(const OnnxNode& from, Scope& scope) {
    if (++nodes_ > kMaxNodes) throw Error(ErrorCode::kBadFile, cat("the graph has more than ", kMaxNodes, " nodes"));
    Node node;
    node.name = cat(scope.prefix, from.name);
    node.op = from.op;
    node.domain = usual_domain(from.domain);
    for (const std::string_view input : from.inputs) {
      const ValueId id = input.empty() ? kAbsent : find(scope, input);
      if (id == kAbsent && !input.empty() && !scope.names.contains(input)) {
        throw Error(ErrorCode::kBadFile, cat(describe(node), ": its input ", in_quotes(input), " is given by no node"));
      }
      node.inputs.push_back(id);
    }
    for (const std::string_view output : from.outputs) {
      node.outputs.push_back(output.empty() ? kAbsent : scope.names.find(output)->second);
    }
    if (const auto function = functions_.find({node.domain, node.op}); function != functions_.end()) {
      return expand(*function->second, from, node, scope);
    }
    const auto opset = scope.opsets->find(node.domain);
    node.opset = opset == scope.opsets->end() ? 1 : static_cast<int>(std::clamp<int64_t>(opset->second, 0, 1 << 20));
    for (const OnnxAttribute& attribute : from.attributes) {
      const OnnxAttribute* meant = resolve(attribute, scope);
      if (meant) node.attributes.push_back(read_attribute(*meant, attribute.name, node, scope));
    }
    scope.graph->nodes.push_back(std::move(node));
  }

  // Null: the call leaves it out.
  static const OnnxAttribute* resolve(const OnnxAttribute& attribute, const Scope& scope) {
    if (attribute.reference.empty()) return &attribute;
    if (!scope.references) {
      throw Error(ErrorCode::kBadFile, cat("attribute ", in_quotes(attribute.name), " refers to ",
                                           in_quotes(attribute.reference), " outside of a function"));
    }
    const auto found = scope.references->find(attribute.reference);
    return found == scope.references->end() ? nullptr : found->second;
  }

  void expand(const OnnxFunction& function, const OnnxNode& call, const Node& node, Scope& scope) {
    if (call.inputs.size() > function.inputs.size() || call.outputs.size() > function.outputs.size()) {
      throw Error(ErrorCode::kBadFile,
                  cat(describe(node), ": has ", call.inputs.size(), " inputs and ", call.outputs.size(),
                      " outputs, its function ", function.inputs.size(), " and ", function.outputs.size()));
    }
    if (scope.depth + 1 > kMaxDepth) {
      throw Error(ErrorCode::kBadFile, cat(describe(node), ": graphs and functions lie deeper than ", kMaxDepth));
    }
    AttributeRefs references;
    for (const OnnxAttribute& attribute : function.defaults) references[attribute.name] = &attribute;
    for (const OnnxAttribute& attribute : call.attributes) {
      const OnnxAttribute* meant = resolve(attribute, scope);
      if (meant) references[attribute.name] = meant;
    }
    const Opsets opsets = function.opsets.empty() ? *scope.opsets : read_opsets(function.opsets);
    const std::string prefix = cat(node.name.empty() ? node.op : node.name, "/");
    Scope inside{scope.graph, nullptr, &opsets, &references, prefix, scope.depth + 1};
    for (size_t i = 0; i < function.inputs.size(); ++i) {
      inside.names[function.inputs[i]] = i < node.inputs.size() ? node.inputs[i] : kAbsent;
    }
    std::vector<std::pair<std::string_view, ValueId>> passed;  // inputs that are outputs, too
    for (size_t i = 0; i < function.outputs.size(); ++i) {
      const std::string_view name = function.outputs[i];
      const ValueId id = i < node.outputs.size() ? node.outputs[i] : kAbsent;
      if (id == kAbsent) continue;
      if (inside.names.contains(name)) {
        passed.emplace_back(name, id);
        continue;
      }
      inside.names[name] = id;
      given_.erase({scope.graph, id});
      outputs_of_call_.insert({scope.graph, id});
    }
    read_nodes(function.nodes, inside);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const bool is_passed =
          std::any_of(passed.begin(), passed.end(), [&](const auto& p) { return p.second == node.outputs[i]; });
      if (node.outputs[i] == kAbsent || is_passed) continue;
      if (given_.contains({scope.graph, node.outputs[i]})) continue;
      throw Error(ErrorCode::kBadFile, cat(describe(node), ": its function gives no ", in_quotes(function.outputs[i])));
    }
    for (const auto& pass : passed) {
      Node identity;
      identity.name = cat(prefix, pass.first);
      identity.op = "Identity";
      identity.opset = static_cast<int>(kNewestOpset);
      identity.inputs = {inside.names[pass.first]};
      identity.outputs = {pass.second};
      scope.graph->nodes.push_back(std::move(identity));
    }
  }

  Attribute read_attribute(const OnnxAttribute& from, std::string_view name, const Node& node, Scope& scope) {
    const auto bad = [&](std::string_view what) {
      return Error(ErrorCode::kBadFile, cat(describe(node), ": attribute ", in_quotes(name), " ", what));
    };
    Attribute out;
    out.name = name;
    // AttributeProto.AttributeType; what is 0 in the file may be left out.
    constexpr int kFloat = 1, kInt = 2, kString = 3;
    out.i = from.i;
    out.f = from.f;
    if (from.s) out.s = std::string(*from.s);
    if (from.type == kFloat && !out.f) out.f = 0.0f;
    if (from.type == kInt && !out.i) out.i = 0;
    if (from.type == kString && !out.s) out.s = "";
    out.ints = from.ints;
    out.floats = from.floats;
    for (const std::string_view text : from.strings) {
      out.strings.emplace_back(text);
      attribute_bytes_ += static_cast<int64_t>(text.size() + sizeof(std::string));
    }
    attribute_bytes_ +=
        static_cast<int64_t>(8 * (from.ints.size() + from.floats.size()) + (from.s ? from.s->size() : 0));
    if (attribute_bytes_ > kMaxAttributes) throw bad("makes the model too large: its functions are called too often");
    if (from.tensors.size() > 1 || from.graphs.size() > 1 || from.sparse.size() > 1)
      throw bad("holds several tensors or graphs");
    if (!from.tensors.empty()) out.value = read_tensor_value(from.tensors[0]);
    if (!from.sparse.empty()) out.value = read_sparse(from.sparse[0]);
    if (!from.graphs.empty()) {
      out.graph = std::make_shared<Graph>();
      Scope inside{out.graph.get(), &scope, scope.opsets, scope.references, scope.prefix, scope.depth + 1};
      read_graph(from.graphs[0], inside);
    }
    return out;
  }

  // Once, however often a function is called.
  Value read_tensor_value(const OnnxTensor& tensor) {
    const auto known = tensors_.find(&tensor);
    return known != tensors_.end() ? known->second : tensors_[&tensor] = read_new_tensor(tensor);
  }

  Value read_new_tensor(const OnnxTensor& tensor) {
    Value value = read_tensor(tensor, model_.file, &external_);
    weight_bytes_ += value.bytes();
    const bool borrowed = value.kind() == Value::Kind::kTensor && value.tensor().storage()->read_only();
    if (!borrowed) copied_bytes_ += value.bytes();
    return value;
  }

  Value read_sparse(const OnnxSparseTensor& sparse) {
    const auto bad = [&](std::string_view what) {
      return Error(ErrorCode::kBadFile, cat("sparse tensor ", in_quotes(sparse.values.name), " ", what));
    };
    const Value values = read_tensor_value(sparse.values), places = read_tensor_value(sparse.indices);
    if (values.kind() != Value::Kind::kTensor || places.type() != ElementType::kI64)
      throw bad("has places that are not i64");
    const Shape shape{std::span<const int64_t>(sparse.dims)};
    if (shape.numel() > kMaxSparse / size_of(values.tensor().dtype())) throw bad("is too large");
    const Tensor out = zeros(shape, values.tensor().dtype()), at = places.tensor().contiguous(),
                 from = values.tensor().contiguous();
    const int64_t count = from.numel(), size = size_of(from.dtype());
    const bool linear = at.rank() == 1 && at.dim(0) == count;
    if (!linear && (at.rank() != 2 || at.dim(0) != count || at.dim(1) != shape.rank()))
      throw bad("has other places than values");
    for (int64_t i = 0; i < count; ++i) {
      int64_t place = linear ? at.data<int64_t>()[i] : 0;
      for (int d = 0; d < shape.rank() && !linear; ++d) {
        const int64_t index = at.data<int64_t>()[i * shape.rank() + d];
        if (index < 0 || index >= shape[d]) throw bad("has a place outside of it");
        place = place * shape[d] + index;
      }
      if (place < 0 || place >= shape.numel()) throw bad("has a place outside of it");
      std::copy_n(from.raw() + i * size, size, out.raw() + place * size);
    }
    return {out, values.type()};
  }

  const OnnxModel& model_;
  ExternalFiles external_;
  std::map<std::pair<std::string, std::string>, const OnnxFunction*> functions_;
  std::set<std::pair<Graph*, ValueId>> given_, outputs_of_call_;
  std::map<const OnnxTensor*, Value> tensors_;
  size_t nodes_ = 0;
  int64_t attribute_bytes_ = 0;
  int64_t weight_bytes_ = 0, copied_bytes_ = 0;
};

}  // namespace

Imported import_onnx(const OnnxModel& model) { return Importer(model).run(); }

}  // namespace wick::graph
