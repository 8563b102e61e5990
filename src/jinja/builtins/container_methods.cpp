// Methods of lists, tuples, dicts and numbers.
#include <algorithm>
#include <cmath>

#include "jinja/builtins/methods.h"
#include "jinja/compare.h"

namespace wick::jinja {
namespace {

Value count_item(Interpreter&, const Value& self, const Arguments& arguments) {
  const Bound bound("count", arguments, {"value"}, 1);
  const auto items = self.items();
  return std::count_if(items.begin(), items.end(), [&](const Value& item) { return equal(item, *bound[0]); });
}

Value index_of_item(Interpreter&, const Value& self, const Arguments& arguments) {
  const Bound bound("index", arguments, {"value", "start", "stop"}, 1);
  const auto length = static_cast<int64_t>(self.items().size());
  const Slice range = resolve_slice(bound.get(1), bound.get(2), {}, length);
  for (int64_t i = range.first; i < range.first + range.count; ++i) {
    if (equal(self.items()[static_cast<size_t>(i)], *bound[0])) return i;
  }
  throw problem("the value is not in the ", self.type_name());
}

Value copy_of(Interpreter&, const Value& self, const Arguments& arguments) {
  expect_no_arguments("copy", arguments);
  return self.is_list() ? Value(self.shared_items()) : Value(self.as_dict());
}

Value get_entry(Interpreter&, const Value& self, const Arguments& arguments) {
  const Bound bound("get", arguments, {"key", "default"}, 1);
  const Value* found = self.as_dict().find(*bound[0]);
  return found ? *found : bound.get(1);
}

template <typename Pick>
Value view(std::string_view function, std::string_view name, const Value& self, const Arguments& arguments,
           const Pick& pick) {
  expect_no_arguments(function, arguments);
  std::vector<Value> items;
  items.reserve(self.as_dict().size());
  for (const auto& entry : self.as_dict().entries()) items.push_back(pick(entry));
  return Value(std::make_shared<DictView>(name, make_items(std::move(items))));
}

Value keys(Interpreter&, const Value& self, const Arguments& arguments) {
  return view("keys", "dict_keys", self, arguments, [](const Dict::Entry& entry) { return entry.first; });
}

Value values(Interpreter&, const Value& self, const Arguments& arguments) {
  return view("values", "dict_values", self, arguments, [](const Dict::Entry& entry) { return entry.second; });
}

Value items(Interpreter&, const Value& self, const Arguments& arguments) {
  return view("items", "dict_items", self, arguments, [](const Dict::Entry& entry) {
    return Value::tuple({entry.first, entry.second});
  });
}

Value is_integer(Interpreter&, const Value& self, const Arguments& arguments) {
  expect_no_arguments("is_integer", arguments);
  return std::isfinite(self.as_number()) && std::trunc(self.as_number()) == self.as_number();
}

Value bit_length(Interpreter&, const Value& self, const Arguments& arguments) {
  expect_no_arguments("bit_length", arguments);
  int bits = 0;
  for (auto rest = static_cast<uint64_t>(std::abs(self.as_int())); rest != 0; rest >>= 1) ++bits;
  return bits;
}

constexpr NamedFunction kListMethods[] = {{"count", count_item}, {"index", index_of_item}, {"copy", copy_of}};
constexpr NamedFunction kTupleMethods[] = {{"count", count_item}, {"index", index_of_item}};
constexpr NamedFunction kDictMethods[] = {
    {"get", get_entry}, {"keys", keys}, {"values", values}, {"items", items}, {"copy", copy_of}};
constexpr NamedFunction kFloatMethods[] = {{"is_integer", is_integer}};
constexpr NamedFunction kIntMethods[] = {{"bit_length", bit_length}};

}  // namespace

std::span<const NamedFunction> container_methods(Value::Kind kind) {
  switch (kind) {
    case Value::Kind::kList: return kListMethods;
    case Value::Kind::kTuple: return kTupleMethods;
    case Value::Kind::kDict: return kDictMethods;
    case Value::Kind::kFloat: return kFloatMethods;
    case Value::Kind::kInt:
    case Value::Kind::kBool: return kIntMethods;
    default: return {};
  }
}

}  // namespace wick::jinja
