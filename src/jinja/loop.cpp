#include "jinja/loop.h"

#include "jinja/compare.h"
#include "jinja/objects.h"

namespace wick::jinja {
namespace {

struct LoopField {
  std::string_view name;
  Value (*get)(const Loop& loop, int64_t index, int64_t length, int depth);
};
constexpr LoopField kFields[] = {
    {"index", [](const Loop&, int64_t index, int64_t, int) -> Value { return index + 1; }},
    {"index0", [](const Loop&, int64_t index, int64_t, int) -> Value { return index; }},
    {"revindex", [](const Loop&, int64_t index, int64_t length, int) -> Value { return length - index; }},
    {"revindex0", [](const Loop&, int64_t index, int64_t length, int) -> Value { return length - index - 1; }},
    {"first", [](const Loop&, int64_t index, int64_t, int) -> Value { return index == 0; }},
    {"last", [](const Loop&, int64_t index, int64_t length, int) -> Value { return index + 1 == length; }},
    {"length", [](const Loop&, int64_t, int64_t length, int) -> Value { return length; }},
    {"depth", [](const Loop&, int64_t, int64_t, int depth) -> Value { return depth; }},
    {"depth0", [](const Loop&, int64_t, int64_t, int depth) -> Value { return depth - 1; }},
    {"previtem", [](const Loop& loop, int64_t, int64_t, int) -> Value { return loop.neighbour(-1); }},
    {"nextitem", [](const Loop& loop, int64_t, int64_t, int) -> Value { return loop.neighbour(1); }},
};

Value call_cycle(Interpreter&, const Value& self, const Arguments& arguments) {
  return self.object_as<Loop>()->cycle(arguments);
}

Value call_changed(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  interpreter.keep(self.as_object().shared_from_this());  // it may now hold itself
  return self.object_as<Loop>()->changed(arguments);
}

}  // namespace

std::optional<Value> Loop::attribute(std::string_view name) {
  for (const LoopField& field : kFields) {
    if (field.name == name) return field.get(*this, index_, length_of_items(), loop_depth_);
  }
  if (name == "cycle") return make_function({"cycle", call_cycle}, Value(shared_from_this()));
  if (name == "changed") return make_function({"changed", call_changed}, Value(shared_from_this()));
  return std::nullopt;
}

Value Loop::neighbour(int64_t offset) const {
  const int64_t at = index_ + offset;
  if (at < 0) return Value::undefined("there is no previous item");
  if (at >= length_of_items()) return Value::undefined("there is no next item");
  return items_->values[static_cast<size_t>(at)];
}

Value Loop::cycle(const Arguments& arguments) const {
  if (arguments.positional.empty()) throw problem("no items for cycling given");
  return arguments.positional[static_cast<size_t>(index_) % arguments.positional.size()];
}

bool Loop::changed(const Arguments& arguments) {
  Value now = Value::tuple(arguments.positional);
  if (last_changed_ && equal(*last_changed_, now)) return false;
  last_changed_ = std::move(now);
  return true;
}

Value Loop::call(Interpreter& interpreter, const Arguments& arguments) {
  if (!recursive_) {
    throw problem("The loop must have the 'recursive' marker to be called recursively.");
  }
  const Bound bound("loop", arguments, {"iterable"}, 1);
  return interpreter.run_loop_captured(*recursive_, *bound[0], loop_depth_ + 1, outer_);
}

void Loop::forget() {
  last_changed_.reset();
  outer_.reset();
}

void keep_loop(Interpreter& interpreter, const std::shared_ptr<Loop>& loop) {
  if (!loop->is_recursive()) return;
  interpreter.keep(std::static_pointer_cast<Object>(loop));
}

}  // namespace wick::jinja
