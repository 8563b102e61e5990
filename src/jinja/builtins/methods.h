#pragma once

#include <span>
#include <string_view>

#include "jinja/objects.h"

namespace wick::jinja {

// Python's methods of a value's type; null when it has none of that name.
const NamedFunction* find_method(const Value& value, std::string_view name);
// Those that would change a list or dict: they exist, but the sandbox does not give them out.
bool is_mutating_method(const Value& value, std::string_view name);

// The tables, one per file.
std::span<const NamedFunction> text_methods();
std::span<const NamedFunction> text_query_methods();
std::span<const NamedFunction> text_split_methods();
std::span<const NamedFunction> container_methods(Value::Kind kind);

}  // namespace wick::jinja
