// Filters for values of any kind.
#include "jinja/builtins/filters.h"
#include "jinja/builtins/json_text.h"
#include "jinja/builtins/pretty.h"
#include "jinja/builtins/python_format.h"
#include "jinja/interpreter.h"
#include "jinja/objects.h"

namespace wick::jinja {
namespace {

Value default_value(Interpreter&, const Value& value, const Arguments& arguments) {
  const Bound bound("default", arguments, {"default_value", "boolean"});
  const bool replaces = value.is_undefined() || (bound.flag(1) && !value.truthy());
  return replaces ? bound.get(0, "") : value;
}

Value string(Interpreter&, const Value& value, const Arguments& arguments) {
  expect_no_arguments("string", arguments);
  return to_text_value(value);
}

Value length(Interpreter&, const Value& value, const Arguments& arguments) {
  expect_no_arguments("length", arguments);
  const auto count = length_of(value);
  if (!count) throw problem("object of type '", value.type_name(), "' has no len()");
  return *count;
}

Value attr(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  const std::string_view name = Bound("attr", arguments, {"name"}, 1).text(0);
  if (value.is_dict()) {  // only methods: |attr does not look at elements
    const Value found = interpreter.attribute(Value(Dict()), name);
    if (found.is_undefined()) return found;
  }
  return interpreter.attribute(value, name);
}

std::string indent_text(const Value& indent) {
  if (indent.is_text()) return std::string(indent.bytes());
  const int64_t width = to_index(indent);
  require_memory(width);
  return std::string(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
}

Value tojson(Interpreter&, const Value& value, const Arguments& arguments) {
  const Bound bound("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ensure_ascii = bound.flag(0);
  if (bound.has(1)) {
    style.indent = indent_text(*bound[1]);
    style.item_separator = ",";
  }
  if (bound.has(2)) {
    const auto separators = iterate(*bound[2]);
    if (separators->values.size() != 2) throw problem("tojson: separators are two texts");
    style.item_separator = to_text(separators->values[0]);
    style.key_separator = to_text(separators->values[1]);
  }
  style.sort_keys = bound.flag(3);
  return json_text(value, style);
}

Value pprint(Interpreter&, const Value& value, const Arguments& arguments) {
  expect_no_arguments("pprint", arguments);
  return pretty(value);
}

constexpr NamedFilter kGeneralFilters[] = {
    {"default", default_value}, {"d", default_value}, {"string", string}, {"length", length},
    {"count", length},          {"attr", attr},       {"tojson", tojson}, {"pprint", pprint},
};

}  // namespace

std::span<const NamedFilter> general_filters() { return kGeneralFilters; }

}  // namespace wick::jinja
