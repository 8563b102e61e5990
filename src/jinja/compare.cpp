#include "jinja/compare.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "jinja/builtins/text_search.h"
#include "jinja/objects.h"

namespace wick::jinja {
namespace {

using Kind = Value::Kind;

// Exact even where a 64-bit integer has no double: negative, zero or positive; empty when a NaN is involved.
std::optional<int> compare_numbers(const Value& left, const Value& right) {
  if (left.is_integral() && right.is_integral()) {
    return left.as_int() < right.as_int() ? -1 : left.as_int() > right.as_int();
  }
  if (!left.is_integral() && !right.is_integral()) {
    const double a = left.as_number(), b = right.as_number();
    if (std::isnan(a) || std::isnan(b)) return std::nullopt;
    return a < b ? -1 : a > b;
  }
  if (right.is_integral()) {
    const auto swapped = compare_numbers(right, left);
    return swapped ? std::optional(-*swapped) : std::nullopt;
  }
  const double number = right.as_number();
  if (std::isnan(number)) return std::nullopt;
  if (number >= 9223372036854775808.0) return -1;
  if (number < -9223372036854775808.0) return 1;
  const auto whole = static_cast<int64_t>(number);
  if (left.as_int() != whole) return left.as_int() < whole ? -1 : 1;
  const double rest = number - static_cast<double>(whole);
  return rest > 0 ? -1 : rest < 0;
}

bool equal_items(std::span<const Value> left, std::span<const Value> right) {
  if (left.size() != right.size()) return false;
  for (size_t i = 0; i < left.size(); ++i) {
    if (!equal(left[i], right[i])) return false;
  }
  return true;
}

bool equal_dicts(const Dict& left, const Dict& right) {
  if (left.size() != right.size()) return false;
  for (const auto& [key, value] : left.entries()) {
    const Value* other = right.find(key);
    if (!other || !equal(value, *other)) return false;
  }
  return true;
}

}  // namespace

bool equal(const Value& left, const Value& right) {
  spend_work();
  if (left.is_number() && right.is_number()) return compare_numbers(left, right) == 0;
  if (left.kind() != right.kind()) return false;
  switch (left.kind()) {
    case Kind::kNone:
    case Kind::kUndefined: return true;
    case Kind::kText:
      if (left.bytes().size() != right.bytes().size()) return false;
      spend_work_on_bytes(left.bytes().size());
      return left.bytes() == right.bytes();
    case Kind::kList:
    case Kind::kTuple: return equal_items(left.items(), right.items());
    case Kind::kDict: return equal_dicts(left.as_dict(), right.as_dict());
    case Kind::kObject: return left.as_object().equals(right.as_object());
    default: return false;
  }
}

bool less(const Value& left, const Value& right, std::string_view op) {
  spend_work();
  if (left.is_undefined()) use_of_undefined(left);
  if (right.is_undefined()) use_of_undefined(right);
  if (left.is_number() && right.is_number()) return compare_numbers(left, right).value_or(1) < 0;
  if (left.is_text() && right.is_text()) {
    spend_work_on_bytes(std::min(left.bytes().size(), right.bytes().size()));
    return left.bytes() < right.bytes();  // UTF-8 sorts like its code points
  }
  if (left.kind() == right.kind() && (left.is_list() || left.is_tuple())) {
    const auto a = left.items(), b = right.items();
    for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
      if (!equal(a[i], b[i])) return less(a[i], b[i], op);
    }
    return a.size() < b.size();
  }
  throw problem("'", op, "' not supported between instances of '", left.type_name(), "' and '", right.type_name(), "'");
}

bool less_or_equal(const Value& left, const Value& right, std::string_view op) {
  return less(left, right, op) || equal(left, right);
}

bool contains(const Value& container, const Value& item) {
  if (container.is_text()) {
    if (item.is_undefined()) use_of_undefined(item);
    if (!item.is_text()) {
      throw problem("'in <string>' requires string as left operand, not ", item.type_name());
    }
    return find_text(container.bytes(), item.bytes()) != std::string_view::npos;
  }
  if (container.is_dict()) return container.as_dict().find(item) != nullptr;
  if (const auto* range = container.object_as<Range>()) {
    return item.is_integral() && range->position(item.as_int()).has_value();
  }
  if (!is_iterable(container)) throw problem("argument of type '", container.type_name(), "' is not iterable");
  for (const Value& candidate : each(container)) {
    if (candidate.same_as(item) || equal(candidate, item)) return true;
  }
  return false;
}

size_t hash_of(std::string_view text) { return std::hash<std::string_view>{}(text); }

size_t hash_of(const Value& value) {
  spend_work();
  switch (value.kind()) {
    case Kind::kNone: return 1;
    case Kind::kUndefined: return 2;
    case Kind::kBool:
    case Kind::kInt: return std::hash<int64_t>{}(value.as_int());
    case Kind::kFloat: {
      const double number = value.as_number();
      const bool whole = std::abs(number) < 9e18 && std::trunc(number) == number;
      return whole ? std::hash<int64_t>{}(static_cast<int64_t>(number)) : std::hash<double>{}(number);
    }
    case Kind::kText: spend_work_on_bytes(value.bytes().size()); return hash_of(value.bytes());
    case Kind::kTuple: {
      size_t hash = 0x9E3779B97F4A7C15u;
      for (const Value& item : value.items()) hash = (hash ^ hash_of(item)) * 0x100000001B3u;
      return hash;
    }
    case Kind::kObject: return std::hash<const void*>{}(&value.as_object());
    default: throw problem("unhashable type: '", value.type_name(), "'");
  }
}

}  // namespace wick::jinja
