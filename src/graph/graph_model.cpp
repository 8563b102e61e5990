#include "graph/graph_model.h"

#include <algorithm>
#include <chrono>

#include "base/utf8.h"
#include "graph/operators.h"
#include "graph/passes/passes.h"
#include "tensor/arena.h"

namespace wick::graph {
namespace {

// Throws unless the value is what the graph declares. Sizes with a name must agree among the inputs.
void check_input(const Port& port, const Value& value, std::map<std::string, int64_t>& sizes) {
  const ValueType& type = port.type;
  const auto wrong = [&] {
    return Error(ErrorCode::kInvalidArgument,
                 cat("input ", in_quotes(port.name), " is ", describe(value), ", the graph takes ", type));
  };
  if (!type.known || (type.optional && value.kind() == Value::Kind::kNothing)) return;
  if (value.kind() != type.kind) throw wrong();
  if (type.element != ElementType::kNone && value.type() != ElementType::kNone && value.type() != type.element)
    throw wrong();
  if (!type.has_shape || value.kind() == Value::Kind::kSequence) return;
  if (value.shape().rank() != static_cast<int>(type.dims.size())) throw wrong();
  for (int d = 0; d < value.shape().rank(); ++d) {
    if (type.dims[d] >= 0 && type.dims[d] != value.shape()[d]) throw wrong();
    if (type.dims[d] >= 0 || type.dim_names[d].empty()) continue;
    const auto [known, is_new] = sizes.emplace(type.dim_names[d], value.shape()[d]);
    if (!is_new && known->second != value.shape()[d]) {
      throw Error(ErrorCode::kInvalidArgument, cat("input ", in_quotes(port.name), " is ", describe(value), ", but '",
                                                   type.dim_names[d], "' is ", known->second, " elsewhere"));
    }
  }
}

// What a caller keeps must not hold on to the pool, nor to a larger tensor that it is a view of.
Value own(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kTensor: return {value.tensor().clone(), value.type()};
    case Value::Kind::kSequence: {
      std::vector<Value> parts;
      for (const Value& part : value.sequence()) parts.push_back(own(part));
      return {std::move(parts), value.type()};
    }
    default: return value;
  }
}

}  // namespace

std::unique_ptr<GraphModel> GraphModel::open(const std::filesystem::path& path, const GraphOptions& options) {
  return read(MappedFile::open(path), options);
}

std::unique_ptr<GraphModel> GraphModel::read(std::shared_ptr<const MappedFile> file, const GraphOptions& options) {
  const std::filesystem::path path = file->path();
  const OnnxModel model = OnnxModel::read(std::move(file));
  std::unique_ptr<GraphModel> made(new GraphModel(options));
  try {
    made->load(model, options);
  } catch (const Error& error) {
    throw Error(error.code(), cat(path, ": ", error.what()));
  }
  return made;
}

void GraphModel::load(const OnnxModel& model, const GraphOptions& options) {
  const ArenaPause pause;  // constants stay
  imported_ = import_onnx(model);
  Graph& graph = imported_.graph;
  std::vector<std::string> problems;
  bind_operators(graph, problems);
  if (!problems.empty()) throw Error(ErrorCode::kUnsupported, problems.front());
  for (const ValueId id : graph.inputs) inputs_.push_back({graph.values[id].name, graph.values[id].type});
  for (const ValueId id : graph.outputs) outputs_.push_back({graph.values[id].name, graph.values[id].type});
  if (options.optimize) run_passes(graph, options.keep);
  plan_releases(graph);
}

NamedValues GraphModel::run(const NamedValues& inputs, const RunOptions& options) {
  const std::lock_guard lock(mutex_);
  const Graph& graph = imported_.graph;
  std::map<std::string, int64_t> sizes;
  std::vector<Value> values;
  for (const Port& port : inputs_) {
    const auto given = inputs.find(port.name);
    if (given == inputs.end() && port.type.optional) {
      values.emplace_back();
      continue;
    }
    if (given == inputs.end()) {
      throw Error(ErrorCode::kInvalidArgument, cat("input ", in_quotes(port.name), " (", port.type, ") is missing"));
    }
    check_input(port, given->second, sizes);
    values.push_back(given->second);
  }
  for (const auto& given : inputs) {
    const bool known =
        std::any_of(inputs_.begin(), inputs_.end(), [&](const Port& port) { return port.name == given.first; });
    if (!known) throw Error(ErrorCode::kInvalidArgument, cat("the graph has no input ", in_quotes(given.first)));
  }
  std::vector<Value> outputs;
  const ArenaPause pause;  // values live as long as they are needed, not as long as somebody's scope
  {
    const ReuseScope scope(pool_);
    RunState state{options, pool_.limit()};
    state.started = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    outputs = Frame(graph, state).run(std::move(values));
  }
  NamedValues named;
  for (size_t i = 0; i < outputs.size(); ++i) named[outputs_[i].name] = own(outputs[i]);
  return named;
}

std::vector<std::string> check_model(const OnnxModel& model) {
  Imported imported = import_onnx(model);
  std::vector<std::string> problems;
  bind_operators(imported.graph, problems);
  return problems;
}

}  // namespace wick::graph
