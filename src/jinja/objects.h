#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jinja/arguments.h"
#include "jinja/value.h"

namespace wick::jinja {

// range(start, stop, step): at most 100,000 numbers, the sandbox's limit.
class Range : public Object {
 public:
  Range(int64_t start, int64_t stop, int64_t step);

  std::string_view type_name() const override { return "range"; }
  std::string repr() const override;
  std::optional<Value> attribute(std::string_view name) override;
  std::optional<Value> item(const Value& key) override;
  bool has_items() const override { return true; }
  std::shared_ptr<const Items> iterate() override;
  bool iterable() const override { return true; }
  std::optional<int64_t> length() const override { return count_; }
  bool equals(const Object& other) const override;
  std::optional<int64_t> position(int64_t number) const;
  Value slice(int64_t first, int64_t count, int64_t step) const;

 private:
  int64_t start_, stop_, step_, count_ = 0;
};

// dict.keys(), dict.values(), dict.items().
class DictView : public Object {
 public:
  DictView(std::string_view name, std::shared_ptr<const Items> items)
      : Object(items->depth), name_(name), items_(std::move(items)) {}

  std::string_view type_name() const override { return name_; }
  std::string repr() const override;
  std::shared_ptr<const Items> iterate() override { return items_; }
  bool iterable() const override { return true; }
  std::optional<int64_t> length() const override { return static_cast<int64_t>(items_->values.size()); }

 private:
  std::string_view name_;
  std::shared_ptr<const Items> items_;
};

// What |map, |select and their like return: can be walked once, has no length, is always true.
class Generator : public Object {
 public:
  explicit Generator(std::vector<Value> items, std::string_view name = "generator")
      : Generator(make_items(std::move(items)), name) {}

  std::string_view type_name() const override { return name_; }
  std::shared_ptr<const Items> iterate() override;
  bool iterable() const override { return true; }
  std::optional<Value> next();  // takes the first of what is left

 private:
  Generator(std::shared_ptr<const Items> items, std::string_view name)
      : Object(items->depth), name_(name), items_(std::move(items)) {}

  std::string_view name_;
  std::shared_ptr<const Items> items_;
  size_t used_ = 0;
};
inline Value generator(std::vector<Value> items) { return Value(std::make_shared<Generator>(std::move(items))); }

// namespace(): the one thing that {% set ns.name = value %} can change.
class Namespace : public Object {
 public:
  explicit Namespace(Dict values) : values_(std::move(values)) {}

  std::string_view type_name() const override { return "Namespace"; }
  std::string repr() const override;
  std::optional<Value> attribute(std::string_view name) override;
  void set(std::string_view name, Value value) { values_.set(name, std::move(value)); }
  void forget() override { values_ = {}; }

 private:
  Dict values_;
};

class Cycler : public Object {
 public:
  explicit Cycler(std::shared_ptr<const Items> items) : Object(items->depth), items_(std::move(items)) {}

  std::string_view type_name() const override { return "Cycler"; }
  std::optional<Value> attribute(std::string_view name) override;
  const Value& current() const { return items_->values[at_]; }
  void advance() { at_ = (at_ + 1) % items_->values.size(); }
  void reset() { at_ = 0; }

 private:
  std::shared_ptr<const Items> items_;
  size_t at_ = 0;
};

// joiner(", "): nothing on the first call, then the separator.
class Joiner : public Object {
 public:
  explicit Joiner(Value separator) : Object(separator.depth()), separator_(std::move(separator)) {}

  std::string_view type_name() const override { return "Joiner"; }
  bool callable() const override { return true; }
  Value call(Interpreter&, const Arguments& arguments) override;

 private:
  Value separator_;
  bool used_ = false;
};

// A function of the host; `self` is the object of a method, None for others.
using HostFunction = Value (*)(Interpreter&, const Value& self, const Arguments&);
struct NamedFunction {
  std::string_view name;
  HostFunction call;
};

class Function : public Object {
 public:
  explicit Function(const NamedFunction& function, Value self = {})
      : Object(self.depth()), function_(function), self_(std::move(self)) {}

  std::string_view type_name() const override { return "builtin_function_or_method"; }
  std::string repr() const override;
  bool callable() const override { return true; }
  Value call(Interpreter& interpreter, const Arguments& arguments) override;

 private:
  NamedFunction function_;
  Value self_;
};

Value make_function(const NamedFunction& function, Value self = {});

// A list's elements first, first + step, ... as Python's slice picks them; fields are None when left out.
struct Slice {
  int64_t first = 0, count = 0, step = 1;
};
Slice resolve_slice(const Value& start, const Value& stop, const Value& step, int64_t length);
Value slice_of(const Value& value, const Value& start, const Value& stop, const Value& step);

}  // namespace wick::jinja
