#include "server/api/field_kinds.h"

#include <cmath>

#include "base/utf8.h"

namespace wick {
namespace {

// Whole numbers without a point.
std::string number_text(double value) {
  return value == std::floor(value) && std::abs(value) < 1e15 ? cat(static_cast<int64_t>(value)) : cat(value);
}

std::string allowed_range(const Limits& limits) {
  if (std::isinf(limits.high)) return cat(number_text(limits.low), " or more");
  if (std::isinf(limits.low)) return cat(number_text(limits.high), " or less");
  return cat(number_text(limits.low), " to ", number_text(limits.high));
}

std::string_view kind_of(const Json& value) {
  if (value.is_null()) return "null";
  if (value.is_bool()) return "true or false";
  if (value.is_number()) return "a number";
  if (value.is_text()) return "text";
  return value.is_array() ? "a list" : "an object";
}

}  // namespace

RequestError wrong_kind(const std::string& place, const Json& value, std::string_view expected) {
  return RequestError(place, cat(place, " is ", kind_of(value), ", expected ", expected), "invalid_type");
}

void check_range(const std::string& place, double value, const Limits& limits) {
  if (value >= limits.low && value <= limits.high) return;
  throw RequestError(place, cat(place, " is ", number_text(value), ", allowed is ", allowed_range(limits)));
}

void check_word(const std::string& place, const std::string& value, const Limits& limits) {
  if (limits.words.empty()) return;
  std::string allowed;
  for (const std::string_view word : limits.words) {
    if (value == word) return;
    allowed += cat(allowed.empty() ? "" : ", ", in_quotes(word));
  }
  throw RequestError(
      place, cat(place, " is ", in_quotes(value), ", allowed ", limits.words.size() == 1 ? "is " : "are ", allowed));
}

void add_limits(OrderedJson& schema, const Limits& limits) {
  OrderedJson& target = schema.contains("items") ? schema["items"] : schema;
  const bool whole = target.value("type", "") == "integer";
  const auto set = [&](const char* name, double value) {
    if (std::isinf(value)) return;
    if (whole) {
      target[name] = static_cast<int64_t>(value);
    } else {
      target[name] = value;
    }
  };
  set("minimum", limits.low);
  set("maximum", limits.high);
  if (!limits.words.empty()) target["enum"] = limits.words;
}

int64_t whole_number(const Json& value, const std::string& place) {
  if (!value.is_number()) throw wrong_kind(place, value, "a whole number");
  const double number = value.as_number();
  if (!value.is_int() && number != std::floor(number)) {
    throw RequestError(place, cat(place, " is ", number, ", expected a whole number"), "invalid_type");
  }
  constexpr double kMost = 9.0e15, kMostInt = 9.2e18;  // a double holds every whole number up to the first
  if (std::abs(number) > (value.is_int() ? kMostInt : kMost)) {
    throw RequestError(place, cat(place, " is ", number, ", which is too large"));
  }
  return value.as_int();
}

}  // namespace wick
