#pragma once

#include <string_view>

#include "jinja/value.h"

namespace wick::jinja {

// Python's ==, <, in and hash.
bool equal(const Value& left, const Value& right);
bool less(const Value& left, const Value& right, std::string_view op = "<");  // throws for kinds without an order
bool less_or_equal(const Value& left, const Value& right, std::string_view op = "<=");
bool contains(const Value& container, const Value& item);
size_t hash_of(const Value& value);  // throws "unhashable type: 'list'"
size_t hash_of(std::string_view text);

}  // namespace wick::jinja
