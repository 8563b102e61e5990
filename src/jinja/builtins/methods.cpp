#include "jinja/builtins/methods.h"

#include <algorithm>

namespace wick::jinja {
namespace {

constexpr std::string_view kListChanges[] = {"append", "clear", "pop", "reverse", "insert", "sort", "extend", "remove"};
constexpr std::string_view kDictChanges[] = {"clear", "pop", "popitem", "setdefault", "update"};

const NamedFunction* find_in(std::span<const NamedFunction> table, std::string_view name) {
  for (const NamedFunction& method : table) {
    if (method.name == name) return &method;
  }
  return nullptr;
}

}  // namespace

const NamedFunction* find_method(const Value& value, std::string_view name) {
  if (!value.is_text()) return find_in(container_methods(value.kind()), name);
  for (const auto table : {text_methods(), text_query_methods(), text_split_methods()}) {
    if (const NamedFunction* method = find_in(table, name)) return method;
  }
  return nullptr;
}

bool is_mutating_method(const Value& value, std::string_view name) {
  const auto has = [&](std::span<const std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  return (value.is_list() && has(kListChanges)) || (value.is_dict() && has(kDictChanges));
}

}  // namespace wick::jinja
