#include "jinja/objects.h"

#include "jinja/builtins/python_format.h"

namespace wick::jinja {
namespace {

constexpr int64_t kMaxRange = 100'000;

Value next_of_cycler(Interpreter&, const Value& self, const Arguments& arguments) {
  expect_no_arguments("next", arguments);
  auto* cycler = self.object_as<Cycler>();
  Value value = cycler->current();
  cycler->advance();
  return value;
}

Value reset_cycler(Interpreter&, const Value& self, const Arguments& arguments) {
  expect_no_arguments("reset", arguments);
  self.object_as<Cycler>()->reset();
  return {};
}

}  // namespace

Range::Range(int64_t start, int64_t stop, int64_t step) : start_(start), stop_(stop), step_(step) {
  if (step == 0) throw problem("range() arg 3 must not be zero");
  const auto distance = static_cast<unsigned __int128>(step > 0 ? static_cast<__int128>(stop) - start
                                                                : static_cast<__int128>(start) - stop);
  const bool empty = step > 0 ? stop <= start : start <= stop;
  const auto stride =
      static_cast<unsigned __int128>(step > 0 ? static_cast<__int128>(step) : -static_cast<__int128>(step));
  const unsigned __int128 count = empty ? 0 : (distance + stride - 1) / stride;
  if (count > kMaxRange) throw problem("Range too big. The sandbox blocks ranges larger than ", kMaxRange);
  count_ = static_cast<int64_t>(count);
}

std::string Range::repr() const {
  return step_ == 1 ? cat("range(", start_, ", ", stop_, ")") : cat("range(", start_, ", ", stop_, ", ", step_, ")");
}

std::optional<Value> Range::attribute(std::string_view name) {
  if (name == "start") return start_;
  if (name == "stop") return stop_;
  if (name == "step") return step_;
  return std::nullopt;
}

std::optional<Value> Range::item(const Value& key) {
  if (!key.is_integral()) return std::nullopt;
  const int64_t index = key.as_int() < 0 ? key.as_int() + count_ : key.as_int();
  if (index < 0 || index >= count_) return std::nullopt;
  return start_ + index * step_;
}

std::shared_ptr<const Items> Range::iterate() {
  std::vector<Value> numbers;
  numbers.reserve(static_cast<size_t>(count_));
  for (int64_t i = 0; i < count_; ++i) numbers.emplace_back(start_ + i * step_);
  return make_items(std::move(numbers));
}

bool Range::equals(const Object& other) const {
  const auto* range = dynamic_cast<const Range*>(&other);
  if (!range || range->count_ != count_) return false;
  return count_ == 0 || (range->start_ == start_ && (count_ == 1 || range->step_ == step_));
}

std::optional<int64_t> Range::position(int64_t number) const {
  if (count_ == 0) return std::nullopt;
  const int64_t last = start_ + (count_ - 1) * step_;
  if (number < std::min(start_, last) || number > std::max(start_, last)) return std::nullopt;
  const __int128 distance = static_cast<__int128>(number) - start_;
  if (distance % step_ != 0) return std::nullopt;
  return static_cast<int64_t>(distance / step_);
}

Value Range::slice(int64_t first, int64_t count, int64_t step) const {
  const int64_t start = start_ + first * step_;
  return {std::make_shared<Range>(start, start + count * step_ * step, step_ * step)};
}

std::string DictView::repr() const {
  std::string out = cat(name_, "(");
  append_repr(out, Value(items_));
  return out + ")";
}

std::shared_ptr<const Items> Generator::iterate() {
  if (used_ == 0) {
    used_ = items_->values.size();
    return items_;
  }
  std::vector<Value> rest(items_->values.begin() + static_cast<std::ptrdiff_t>(used_), items_->values.end());
  used_ = items_->values.size();
  return make_items(std::move(rest));
}

std::optional<Value> Generator::next() {
  if (used_ >= items_->values.size()) return std::nullopt;
  return items_->values[used_++];
}

std::string Namespace::repr() const {
  constexpr int kMostInside = 8;  // a namespace may hold itself
  thread_local int inside_namespaces = 0;
  if (inside_namespaces > kMostInside) return "<Namespace ...>";
  struct Inside {
    explicit Inside(int& count) : count_(++count) {}
    ~Inside() { --count_; }
    int& count_;
  } const inside(inside_namespaces);
  std::string out = "<Namespace {";
  for (size_t i = 0; i < values_.size(); ++i) {
    const auto& [key, value] = values_.entries()[i];
    out += cat(i ? ", " : "", jinja::repr(key), ": ", jinja::repr(value));
    require_memory(static_cast<int64_t>(out.size()));
  }
  return out + "}>";
}

std::optional<Value> Namespace::attribute(std::string_view name) {
  const Value* value = values_.find(name);
  return value ? std::optional(*value) : std::nullopt;
}

std::optional<Value> Cycler::attribute(std::string_view name) {
  if (name == "current") return current();
  if (name == "pos") return static_cast<int64_t>(at_);
  if (name == "items") return Value::tuple(items_);
  if (name == "next") return make_function({"next", next_of_cycler}, Value(shared_from_this()));
  if (name == "reset") return make_function({"reset", reset_cycler}, Value(shared_from_this()));
  return std::nullopt;
}

Value Joiner::call(Interpreter&, const Arguments& arguments) {
  expect_no_arguments("joiner", arguments);
  return std::exchange(used_, true) ? separator_ : Value("");
}

std::string Function::repr() const { return cat("<built-in method ", function_.name, ">"); }

Value Function::call(Interpreter& interpreter, const Arguments& arguments) {
  return function_.call(interpreter, self_, arguments);
}

Value make_function(const NamedFunction& function, Value self) {
  return {std::make_shared<Function>(function, std::move(self))};
}

}  // namespace wick::jinja
