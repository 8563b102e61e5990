#include "graph/executor.h"

#include <chrono>
#include <new>

#include "base/utf8.h"
#include "graph/operators.h"

namespace wick::graph {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

void Frame::put(ValueId id, Value value) {
  if (state_.options.hook) state_.options.hook(graph_.values[id].name, value);
  values_[id] = std::move(value);
}

std::vector<Value> Frame::run(std::vector<Value> inputs) {
  for (size_t i = 0; i < graph_.inputs.size(); ++i) put(graph_.inputs[i], std::move(inputs[i]));
  inputs.clear();
  for (const Node& node : graph_.nodes) run_node(node);
  std::vector<Value> outputs;
  for (const ValueId id : graph_.outputs) outputs.push_back(at(id));
  return outputs;
}

std::vector<Value> Frame::run_body(const Graph& body, std::vector<Value> inputs) {
  if (inputs.size() != body.inputs.size()) {
    throw Error(ErrorCode::kBadFile, cat("graph ", in_quotes(body.name), " takes ", body.inputs.size(),
                                         " inputs, but gets ", inputs.size()));
  }
  Frame inside(body, state_);
  for (const Capture& capture : body.captures) inside.values_[capture.inner] = at(capture.outer);
  return inside.run(std::move(inputs));
}

void Frame::run_node(const Node& node) {
  const double start = state_.options.profile ? now() : 0;
  try {
    if (++state_.steps > state_.options.max_steps) {
      throw Error(ErrorCode::kInvalidArgument, cat("more than ", state_.options.max_steps, " nodes were run"));
    }
    OpRun run(node, *this);
    node.implementation->run(run);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] != kAbsent) put(node.outputs[i], std::move(run.outputs()[i]));
    }
  } catch (const Error& error) {
    // A node inside a body has named itself already.
    const std::string_view text = error.what();
    const bool named = text.starts_with("node ") || text.starts_with("a node of ");
    throw named ? error : Error(error.code(), cat(describe(node), ": ", text));
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::kOutOfMemory, cat(describe(node), ": out of memory"));
  } catch (const std::length_error&) {
    throw Error(ErrorCode::kOutOfMemory, cat(describe(node), ": out of memory"));
  }
  for (const ValueId id : node.last_uses) values_[id] = {};
  if (state_.options.profile) {
    const double end = now();
    NodeTime& time = state_.options.profile->try_emplace(&node, NodeTime{&node}).first->second;
    if (time.calls++ == 0) time.first_start = start - state_.started;
    time.seconds += end - start;
  }
}

std::vector<Value> run_constant_node(const Graph& graph, const Node& node, int64_t value_limit) {
  const RunOptions options;
  RunState state{options, value_limit};
  Frame frame(graph, state);
  OpRun run(node, frame);
  node.implementation->run(run);
  return std::move(run.outputs());
}

// --- OpRun ---

bool OpRun::is_constant(int input) const {
  return has(input) && frame_.graph().values[node_.inputs[input]].is_constant;
}

const Value& OpRun::in(int input) const {
  if (!has(input)) throw Error(ErrorCode::kBadFile, cat("input ", input + 1, " is missing"));
  return frame_.at(node_.inputs[input]);
}

const Tensor& OpRun::tensor(int input) const {
  const Value& value = in(input);
  if (value.kind() != Value::Kind::kTensor) {
    throw Error(ErrorCode::kDType, cat("input ", input + 1, " is ", describe(value), ", expected a tensor of numbers"));
  }
  return value.tensor();
}

Tensor OpRun::tensor_or_none(int input) const { return has(input) ? tensor(input) : Tensor(); }

const Strings& OpRun::strings(int input) const {
  const Value& value = in(input);
  if (value.kind() != Value::Kind::kStrings) {
    throw Error(ErrorCode::kDType, cat("input ", input + 1, " is ", describe(value), ", expected texts"));
  }
  return value.strings();
}

std::vector<int64_t> OpRun::ints(int input) const {
  const Tensor& x = tensor(input);
  constexpr int64_t kMost = 1 << 20;
  if (!is_integer(type(input)) && type(input) != ElementType::kBool) {
    throw Error(ErrorCode::kDType, cat("input ", input + 1, " is ", describe(in(input)), ", expected whole numbers"));
  }
  if (x.numel() > kMost)
    throw Error(ErrorCode::kShape, cat("input ", input + 1, " is ", x.shape(), ": too long a list"));
  return x.to_vector<int64_t>();
}

int64_t OpRun::int_at(int input) const {
  const auto values = ints(input);
  if (values.size() != 1)
    throw Error(ErrorCode::kShape, cat("input ", input + 1, " has ", values.size(), " elements, expected 1"));
  return values[0];
}

double OpRun::number_at(int input) const {
  const Tensor& x = tensor(input);
  if (x.numel() != 1)
    throw Error(ErrorCode::kShape, cat("input ", input + 1, " is ", x.shape(), ", expected one element"));
  return x.item();
}

int64_t OpRun::get(std::string_view attribute, int64_t otherwise) const {
  const Attribute* found = node_.find(attribute);
  if (!found) return otherwise;
  if (!found->i) throw Error(ErrorCode::kBadFile, cat("attribute ", in_quotes(attribute), " is no whole number"));
  return *found->i;
}
float OpRun::get(std::string_view attribute, float otherwise) const {
  const Attribute* found = node_.find(attribute);
  if (!found) return otherwise;
  if (!found->f) throw Error(ErrorCode::kBadFile, cat("attribute ", in_quotes(attribute), " is no number"));
  return *found->f;
}
std::string OpRun::get(std::string_view attribute, const char* otherwise) const {
  const Attribute* found = node_.find(attribute);
  if (!found) return otherwise;
  if (!found->s) throw Error(ErrorCode::kBadFile, cat("attribute ", in_quotes(attribute), " is no text"));
  return *found->s;
}
std::vector<int64_t> OpRun::ints(std::string_view attribute) const {
  const Attribute* found = node_.find(attribute);
  return found ? found->ints : std::vector<int64_t>();
}
std::vector<float> OpRun::floats(std::string_view attribute) const {
  const Attribute* found = node_.find(attribute);
  return found ? found->floats : std::vector<float>();
}
int64_t OpRun::needed(std::string_view attribute) const {
  if (!has(attribute)) throw Error(ErrorCode::kBadFile, cat("attribute ", in_quotes(attribute), " is missing"));
  return get(attribute, int64_t{0});
}
const Graph& OpRun::body(std::string_view attribute) const {
  const Attribute* found = node_.find(attribute);
  if (!found || !found->graph)
    throw Error(ErrorCode::kBadFile, cat("attribute ", in_quotes(attribute), " is no graph"));
  return *found->graph;
}

void OpRun::set(int output, Value value) {
  if (!wants(output)) return;
  if (value.bytes() > frame_.state().value_limit) {
    throw Error(ErrorCode::kOutOfMemory, cat("output ", output + 1, " is ", describe(value), ", which takes ",
                                             value.bytes(), " bytes; the limit is ", frame_.state().value_limit));
  }
  outputs_[output] = std::move(value);
}

}  // namespace wick::graph
