// object.name and object[key], as Jinja2's sandbox looks them up.
#include <algorithm>
#include <array>

#include "base/utf8.h"
#include "jinja/builtins/characters.h"
#include "jinja/builtins/methods.h"
#include "jinja/builtins/python_format.h"
#include "jinja/interpreter.h"
#include "jinja/objects.h"

namespace wick::jinja {
namespace {

// "dict object", as messages name it.
std::string described(const Value& object) { return object.is_none() ? "None" : cat(object.type_name(), " object"); }

Value missing(const Value& object, const Value& key) {
  if (key.is_text()) {
    return Value::undefined(cat("'", described(object), "' has no attribute ", in_quotes(key.bytes())));
  }
  std::string text = key.is_number() || key.is_none() ? repr(key) : std::string(key.type_name());
  return Value::undefined(cat(described(object), " has no element ", text));
}

bool is_internal(std::string_view name) {
  constexpr std::array kInternals = {"__class__", "__dict__",   "__doc__",    "__init__",        "__new__",
                                     "__repr__",  "__str__",    "__len__",    "__getitem__",     "__iter__",
                                     "__eq__",    "__hash__",   "__reduce__", "__dir__",         "__format__",
                                     "__call__",  "__add__",    "__mul__",    "__contains__",    "__getattribute__",
                                     "__lt__",    "__module__", "__sizeof__", "__subclasshook__"};
  return name.starts_with("__") && std::find(kInternals.begin(), kInternals.end(), name) != kInternals.end();
}

// An attribute in Python's sense: a method, or a field of an object. Containers' elements are no attributes.
std::optional<Value> python_attribute(const Value& object, std::string_view name) {
  if (is_internal(name) || is_mutating_method(object, name)) {
    return Value::undefined(cat("access to attribute '", name, "' of '", object.type_name(), "' object is unsafe."));
  }
  if (object.is_object()) {
    if (auto value = object.as_object().attribute(name)) return value;
  }
  if (object.is_tuple() && object.shared_items()->is_group) {
    if (name == "grouper") return object.items()[0];
    if (name == "list") return object.items()[1];
  }
  if (const NamedFunction* method = find_method(object, name)) return make_function(*method, object);
  return std::nullopt;
}

std::optional<Value> element(const Value& object, const Value& key) {
  switch (object.kind()) {
    case Value::Kind::kDict:
      if (!key.is_list() && !key.is_dict()) {
        if (const Value* value = object.as_dict().find(key)) return *value;
      }
      return std::nullopt;
    case Value::Kind::kList:
    case Value::Kind::kTuple:
    case Value::Kind::kText: {
      if (!key.is_integral()) return std::nullopt;
      const int64_t length = *length_of(object);
      const int64_t index = key.as_int() < 0 ? key.as_int() + length : key.as_int();
      if (index < 0 || index >= length) return std::nullopt;
      if (!object.is_text()) return object.items()[static_cast<size_t>(index)];
      return slice_of(object, index, index + 1, {});
    }
    case Value::Kind::kObject: return object.as_object().item(key);
    default: return std::nullopt;
  }
}

}  // namespace

Value Interpreter::attribute(const Value& object, std::string_view name) {
  spend_work(static_cast<int64_t>(name.size() / 64));
  if (object.is_undefined()) use_of_undefined(object);
  if (auto value = python_attribute(object, name)) return *value;
  if (object.is_dict()) {
    if (const Value* value = object.as_dict().find(name)) return *value;
  }
  return missing(object, name);
}

Value Interpreter::item(const Value& object, const Value& key) {
  if (object.is_undefined()) use_of_undefined(object);
  if (auto value = element(object, key)) return *value;
  if (key.is_text()) {
    if (auto value = python_attribute(object, key.bytes())) return *value;
  }
  return missing(object, key);
}

}  // namespace wick::jinja
