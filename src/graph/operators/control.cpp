#include <algorithm>

#include "base/utf8.h"
#include "graph/executor.h"
#include "graph/numbers.h"
#include "graph/operators.h"
#include "ops/rearrange.h"
#include "ops/view.h"

namespace wick::graph {
namespace {

bool is_true(const Value& value) {
  if (value.type() != ElementType::kBool || value.kind() != Value::Kind::kTensor || value.tensor().numel() != 1) {
    throw Error(ErrorCode::kDType, cat("a condition is ", describe(value), ", expected one bool"));
  }
  return value.tensor().item() != 0;
}

// One round of a body costs a step, so that an empty one ends too.
void count_round(OpRun& run) {
  RunState& state = run.frame().state();
  if (++state.steps > state.options.max_steps) {
    throw Error(ErrorCode::kInvalidArgument, cat("more than ", state.options.max_steps, " nodes were run"));
  }
}

void if_op(OpRun& run) {
  const Graph& body = run.body(is_true(run.in(0)) ? "then_branch" : "else_branch");
  auto results = run.frame().run_body(body, {});
  if (std::ssize(results) != run.output_count())
    throw Error(ErrorCode::kBadFile,
                cat("a branch gives ", results.size(), " values for ", run.output_count(), " outputs"));
  for (int i = 0; i < run.output_count(); ++i) run.set(i, std::move(results[i]));
}

// Values of all rounds along a new first dimension, or along `axis`.
Value stacked(const std::vector<Value>& rounds, int64_t axis, bool reversed, const ValueType& type) {
  if (rounds.empty()) {
    std::vector<int64_t> sizes{0};
    for (const int64_t size : type.dims) sizes.push_back(std::max<int64_t>(size, 0));
    const ElementType element = type.element == ElementType::kNone ? ElementType::kF32 : type.element;
    return {zeros(shape_of(sizes), storage_of(element)), element};
  }
  std::vector<Tensor> parts;
  for (const Value& value : rounds) {
    if (value.kind() != Value::Kind::kTensor)
      throw Error(ErrorCode::kDType, cat("a round gives ", describe(value), ", expected a tensor"));
    if (value.type() != rounds[0].type() || value.shape() != rounds[0].shape())
      throw Error(ErrorCode::kShape, cat("rounds give ", describe(rounds[0]), " and ", describe(value)));
    parts.push_back(value.tensor());
  }
  if (reversed) std::reverse(parts.begin(), parts.end());
  return {stack(parts, axis), rounds[0].type()};
}

void loop_op(OpRun& run) {
  const Graph& body = run.body("body");
  const int carried = run.input_count() - 2, gathered = run.output_count() - carried;
  if (carried < 0 || gathered < 0 || std::ssize(body.inputs) != carried + 2 ||
      std::ssize(body.outputs) != 1 + carried + gathered) {
    throw Error(ErrorCode::kBadFile,
                cat("its body has ", body.inputs.size(), " inputs and ", body.outputs.size(), " outputs"));
  }
  const int64_t most = run.has(0) ? run.int_at(0) : INT64_MAX;
  bool goes_on = !run.has(1) || is_true(run.in(1));
  std::vector<Value> values;
  for (int i = 0; i < carried; ++i) values.push_back(run.has(2 + i) ? run.in(2 + i) : Value());
  std::vector<std::vector<Value>> rounds(static_cast<size_t>(gathered));
  for (int64_t round = 0; round < most && goes_on; ++round) {
    count_round(run);
    std::vector<Value> inputs{reshape(longs({round}), Shape{}),
                              Value(full(Shape{}, 1, DType::kU8), ElementType::kBool)};
    inputs.insert(inputs.end(), std::make_move_iterator(values.begin()), std::make_move_iterator(values.end()));
    auto results = run.frame().run_body(body, std::move(inputs));
    goes_on = is_true(results[0]);
    values.assign(std::make_move_iterator(results.begin() + 1), std::make_move_iterator(results.begin() + 1 + carried));
    for (int i = 0; i < gathered; ++i) rounds[i].push_back(std::move(results[1 + carried + i]));
  }
  for (int i = 0; i < carried; ++i) run.set(i, std::move(values[i]));
  for (int i = 0; i < gathered; ++i)
    run.set(carried + i, stacked(rounds[i], 0, false, body.values[body.outputs[1 + carried + i]].type));
}

// From opset 9 on; before, inputs had a batch and perhaps lengths.
void scan_op(OpRun& run) {
  const Graph& body = run.body("body");
  const bool batched = run.opset() < 9;
  const int first = batched ? 1 : 0;  // the lengths
  const auto scanned = static_cast<int>(run.needed("num_scan_inputs"));
  const int states = run.input_count() - first - scanned, gathered = run.output_count() - states;
  if (scanned < 1 || states < 0 || gathered < 0 || std::ssize(body.inputs) != states + scanned ||
      std::ssize(body.outputs) != states + gathered) {
    throw Error(ErrorCode::kBadFile,
                cat("its body has ", body.inputs.size(), " inputs and ", body.outputs.size(), " outputs"));
  }
  if (batched && run.has(0)) throw not_offered("it has lengths, in the form of opset 8");
  const auto list = [&](const char* name, int count) {
    auto values = run.ints(name);
    values.resize(static_cast<size_t>(count));
    return values;
  };
  const auto in_axes = list("scan_input_axes", scanned), out_axes = list("scan_output_axes", gathered);
  auto in_back = list("scan_input_directions", scanned);
  const auto out_back = list("scan_output_directions", gathered);
  if (batched) in_back = list("directions", scanned);
  const int64_t batches = batched ? run.tensor(first + states).dim(0) : 1;
  std::vector<std::vector<Value>> by_batch(static_cast<size_t>(run.output_count()));
  for (int64_t b = 0; b < batches; ++b) {
    const auto of_batch = [&](int input) {
      const Value& value = run.in(first + input);
      if (!batched) return value;
      if (run.tensor(first + input).rank() < 1 || run.tensor(first + input).dim(0) != batches)
        throw Error(ErrorCode::kShape, cat("input ", first + input + 1, " is ", describe(value)));
      return Value(reshape(narrow(value.tensor(), 0, b, 1), value.shape().without(0)), value.type());
    };
    std::vector<Value> values, sources;
    for (int i = 0; i < states; ++i) values.push_back(of_batch(i));
    int64_t length = -1;
    std::vector<int> axes;
    for (int i = 0; i < scanned; ++i) {
      sources.push_back(of_batch(states + i));
      run.tensor(first + states + i);
      axes.push_back(axis_of(in_axes[i], sources[i].shape().rank()));
      const int64_t size = sources[i].shape()[axes[i]];
      if (length >= 0 && size != length)
        throw Error(ErrorCode::kShape, cat("scanned inputs have ", length, " and ", size, " elements"));
      length = size;
    }
    std::vector<std::vector<Value>> rounds(static_cast<size_t>(gathered));
    for (int64_t round = 0; round < length; ++round) {
      count_round(run);
      std::vector<Value> inputs = std::move(values);
      for (int i = 0; i < scanned; ++i) {
        const int64_t at = in_back[i] ? length - 1 - round : round;
        inputs.emplace_back(squeeze(narrow(sources[i].tensor(), axes[i], at, 1), axes[i]), sources[i].type());
      }
      auto results = run.frame().run_body(body, std::move(inputs));
      values.assign(std::make_move_iterator(results.begin()), std::make_move_iterator(results.begin() + states));
      for (int i = 0; i < gathered; ++i) rounds[i].push_back(std::move(results[states + i]));
    }
    for (int i = 0; i < states; ++i) by_batch[i].push_back(std::move(values[i]));
    for (int i = 0; i < gathered; ++i) {
      const int rank = rounds[i].empty() ? 0 : rounds[i][0].shape().rank();
      const int axis = rounds[i].empty() ? 0 : axis_of(out_axes[i], rank + 1);
      by_batch[states + i].push_back(
          stacked(rounds[i], axis, out_back[i] != 0, body.values[body.outputs[states + i]].type));
    }
  }
  for (int i = 0; i < run.output_count(); ++i) {
    run.set(i, batched ? stacked(by_batch[i], 0, false, {}) : std::move(by_batch[i][0]));
  }
}

constexpr Operator kOperators[] = {
    {"If", if_op, "then_branch else_branch", true},
    {"Loop", loop_op, "body", true},
    {"Scan", scan_op,
     "body num_scan_inputs scan_input_axes scan_input_directions scan_output_axes scan_output_directions directions",
     true},
};

}  // namespace

Operators control_operators() { return kOperators; }

}  // namespace wick::graph
