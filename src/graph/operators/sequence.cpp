#include <algorithm>

#include "base/checked.h"
#include "graph/executor.h"
#include "graph/numbers.h"
#include "graph/operators.h"
#include "ops/rearrange.h"
#include "ops/view.h"

namespace wick::graph {
namespace {

const std::vector<Value>& sequence(OpRun& run, int input = 0) {
  const Value& value = run.in(input);
  if (value.kind() != Value::Kind::kSequence)
    throw Error(ErrorCode::kDType, cat("input ", input + 1, " is ", describe(value), ", expected a sequence"));
  return value.sequence();
}

void empty_op(OpRun& run) {
  const ElementType type = element_type(run.get("dtype", int64_t{1}));
  if (type == ElementType::kNone) throw not_offered("dtype is none that Wick has");
  run.set(0, Value(std::vector<Value>(), type));
}

void construct_op(OpRun& run) {
  std::vector<Value> parts;
  for (int i = 0; i < run.input_count(); ++i) {
    if (run.type(i) != run.type(0))
      throw Error(ErrorCode::kDType, cat("inputs are ", describe(run.in(0)), " and ", describe(run.in(i))));
    parts.push_back(run.in(i));
  }
  const ElementType type = run.type(0);
  run.set(0, Value(std::move(parts), type));
}

// Where an element stands, or with `behind` may be put.
size_t place_in(OpRun& run, int input, size_t size, bool behind) {
  const int64_t given = run.int_at(input), count = static_cast<int64_t>(size),
                place = given < 0 ? given + count : given;
  if (place < 0 || place >= count + (behind ? 1 : 0))
    throw bad_input(cat("position ", given, " in a sequence of ", size));
  return static_cast<size_t>(place);
}

void at_op(OpRun& run) {
  const auto& parts = sequence(run);
  run.set(0, parts[place_in(run, 1, parts.size(), false)]);
}
void length_op(OpRun& run) { run.set(0, scalar(static_cast<double>(sequence(run).size()), DType::kI64)); }
void insert_op(OpRun& run) {
  std::vector<Value> parts = sequence(run);
  if (!parts.empty() && parts[0].type() != run.type(1))
    throw Error(ErrorCode::kDType, cat(describe(run.in(1)), " into a sequence of ", parts[0].type()));
  const size_t at = run.has(2) ? place_in(run, 2, parts.size(), true) : parts.size();
  parts.insert(parts.begin() + static_cast<std::ptrdiff_t>(at), run.in(1));
  run.set(0, Value(std::move(parts), run.type(1)));
}
void erase_op(OpRun& run) {
  std::vector<Value> parts = sequence(run);
  if (parts.empty()) throw bad_input("the sequence is empty");
  const size_t at = run.has(1) ? place_in(run, 1, parts.size(), false) : parts.size() - 1;
  parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at));
  run.set(0, Value(std::move(parts), run.type(0)));
}

void concat_op(OpRun& run) {
  const auto& parts = sequence(run);
  if (parts.empty()) throw bad_input("the sequence is empty");
  std::vector<Tensor> tensors;
  for (const Value& part : parts) {
    if (part.kind() != Value::Kind::kTensor || part.type() != parts[0].type())
      throw Error(ErrorCode::kDType, cat("parts are ", describe(parts[0]), " and ", describe(part)));
    tensors.push_back(part.tensor());
  }
  const bool is_new = run.get("new_axis", int64_t{0}) != 0;
  const int axis = axis_of(run.needed("axis"), tensors[0].rank() + (is_new ? 1 : 0));
  run.set(0, is_new ? stack(tensors, axis) : concat(tensors, axis), parts[0].type());
}

void split_op(OpRun& run) {
  const Value& x = run.in(0);
  if (x.kind() != Value::Kind::kStrings) run.tensor(0);
  const int axis = axis_of(run.get("axis", int64_t{0}), x.shape().rank());
  const int64_t size = x.shape()[axis];
  std::vector<int64_t> sizes;
  bool keeps = true;
  if (!run.has(1)) {
    keeps = run.get("keepdims", int64_t{1}) != 0;
    if (size > 1 << 20) throw not_offered(cat(size, " parts"));
    sizes.assign(static_cast<size_t>(size), 1);
  } else if (run.tensor(1).rank() == 0) {
    const int64_t each = run.int_at(1);
    if (each < 1 || size / each > 1 << 20) throw bad_input(cat("parts of ", each));
    for (int64_t at = 0; at < size; at += each) sizes.push_back(std::min(each, size - at));
  } else {
    sizes = run.ints(1);
  }
  if (sizes.size() > size_t{1} << 20) throw not_offered(cat(sizes.size(), " parts"));
  std::vector<Value> parts;
  int64_t at = 0;
  for (const int64_t count : sizes) {
    if (count < 0 || count > size - at)
      throw Error(ErrorCode::kShape, cat("a part of ", count, " at ", at, " of ", x.shape()));
    parts.push_back(moved(x, [&](const Tensor& t) {
      const Tensor part = narrow(t, axis, at, count);
      return keeps ? part : squeeze(part, axis);
    }));
    at += count;
  }
  if (at != size) throw Error(ErrorCode::kShape, cat("parts of ", at, " elements in all for ", x.shape()));
  run.set(0, Value(std::move(parts), x.type()));
}

void map_op(OpRun& run) {
  const auto& first = sequence(run);
  const Graph& body = run.body("body");
  if (std::ssize(body.inputs) != run.input_count() || std::ssize(body.outputs) != run.output_count())
    throw Error(ErrorCode::kBadFile,
                cat("its body has ", body.inputs.size(), " inputs and ", body.outputs.size(), " outputs"));
  std::vector<std::vector<Value>> results(static_cast<size_t>(run.output_count()));
  for (size_t i = 0; i < first.size(); ++i) {
    std::vector<Value> inputs;
    for (int j = 0; j < run.input_count(); ++j) {
      const Value& value = run.in(j);
      if (value.kind() == Value::Kind::kSequence && value.sequence().size() != first.size())
        throw bad_input("sequences have different lengths");
      inputs.push_back(value.kind() == Value::Kind::kSequence ? value.sequence()[i] : value);
    }
    auto made = run.frame().run_body(body, std::move(inputs));
    for (size_t j = 0; j < made.size(); ++j) results[j].push_back(std::move(made[j]));
  }
  for (int j = 0; j < run.output_count(); ++j) {
    const ElementType type = results[j].empty() ? ElementType::kNone : results[j][0].type();
    run.set(j, Value(std::move(results[j]), type));
  }
}

void optional_op(OpRun& run) { run.set(0, run.has(0) ? run.in(0) : Value()); }
void has_element_op(OpRun& run) {
  const bool has = run.has(0) && run.in(0).kind() != Value::Kind::kNothing;
  run.set(0, full(Shape{}, has ? 1 : 0, DType::kU8), ElementType::kBool);
}
void get_element_op(OpRun& run) {
  if (run.in(0).kind() == Value::Kind::kNothing) throw bad_input("the optional is empty");
  run.set(0, run.in(0));
}

constexpr Operator kOperators[] = {
    {"ConcatFromSequence", concat_op, "axis new_axis"},
    {"Optional", optional_op, "type"},
    {"OptionalGetElement", get_element_op},
    {"OptionalHasElement", has_element_op},
    {"SequenceAt", at_op},
    {"SequenceConstruct", construct_op},
    {"SequenceEmpty", empty_op, "dtype"},
    {"SequenceErase", erase_op},
    {"SequenceInsert", insert_op},
    {"SequenceLength", length_op},
    {"SequenceMap", map_op, "body", true},
    {"SplitToSequence", split_op, "axis keepdims"},
};

}  // namespace

Operators sequence_operators() { return kOperators; }

}  // namespace wick::graph
