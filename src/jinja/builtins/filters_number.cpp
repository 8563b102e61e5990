// Filters for numbers.
#include <algorithm>
#include <cmath>

#include "jinja/arithmetic.h"
#include "jinja/builtins/filters.h"
#include "jinja/builtins/number_format.h"
#include "jinja/interpreter.h"
#include "jinja/literals.h"

namespace wick::jinja {
namespace {

Value absolute(Interpreter&, const Value& value, const Arguments& arguments) {
  expect_no_arguments("abs", arguments);
  if (value.is_undefined()) use_of_undefined(value);
  if (!value.is_number()) throw problem("bad operand type for abs(): '", value.type_name(), "'");
  if (value.is_float()) return std::abs(value.as_number());
  return value.as_int() < 0 ? negate(value) : Value(value.as_int());
}

std::optional<int64_t> truncated(double number) {
  if (!(std::abs(number) < 9.2e18)) return std::nullopt;
  return static_cast<int64_t>(number);
}

Value to_int(Interpreter&, const Value& value, const Arguments& arguments) {
  const Bound bound("int", arguments, {"default", "base"});
  if (value.is_undefined()) use_of_undefined(value);
  const Value fallback = bound.get(0, 0);
  if (value.is_integral()) return value.as_int();
  std::optional<double> number;
  if (value.is_text()) {
    spend_work_on_characters(value.bytes().size() * 4);
    const int64_t base = bound.integer(1, 10);
    if (base != 0 && (base < 2 || base > 36)) return fallback;
    if (const auto whole = parse_integer(value.bytes(), static_cast<int>(base))) return *whole;
    number = parse_float(value.bytes());
  } else if (value.is_float()) {
    number = value.as_number();
  }
  if (!number) return fallback;
  if (std::isnan(*number) || std::isinf(*number)) return fallback;
  const auto whole = truncated(*number);
  if (!whole) throw problem("integer overflow: the number does not fit into 64 bits");
  return *whole;
}

Value to_float(Interpreter&, const Value& value, const Arguments& arguments) {
  const Bound bound("float", arguments, {"default"});
  if (value.is_undefined()) use_of_undefined(value);
  if (value.is_number()) return value.as_number();
  if (value.is_text()) spend_work_on_characters(value.bytes().size() * 4);
  const auto number = value.is_text() ? parse_float(value.bytes()) : std::nullopt;
  return number ? Value(*number) : bound.get(0, 0.0);
}

// Python rounds the decimal digits of the exact value, halves to even.
double rounded(double number, int64_t precision) {
  if (!std::isfinite(number) || precision > 300) return number;
  if (precision < -308) return std::copysign(0.0, number);
  if (precision >= 0) {
    const double magnitude = *parse_float(float_digits(std::abs(number), 'f', precision, false));
    return std::copysign(magnitude, number);
  }
  const double unit = std::pow(10.0, static_cast<double>(-precision));
  return std::nearbyint(number / unit) * unit;
}

int64_t rounded_integer(int64_t number, int64_t precision) {
  if (precision >= 0) return number;
  if (precision < -18) return 0;
  int64_t unit = 1;
  for (int64_t i = 0; i < -precision; ++i) unit *= 10;
  const int64_t rest = ((number % unit) + unit) % unit;
  const int64_t below = number - rest;
  const bool up = rest * 2 > unit || (rest * 2 == unit && (below / unit) % 2 != 0);
  return up ? add(below, unit).as_int() : below;
}

Value round_number(Interpreter&, const Value& value, const Arguments& arguments) {
  const Bound bound("round", arguments, {"precision", "method"});
  if (value.is_undefined()) use_of_undefined(value);
  const int64_t precision = bound.integer(0, 0);
  const std::string_view method = bound.text(1, "common");
  if (method != "common" && method != "ceil" && method != "floor") {
    throw problem("method must be common, ceil or floor");
  }
  if (!value.is_number()) throw problem("type ", value.type_name(), " doesn't define __round__ method");
  if (method == "common") {
    if (value.is_integral()) return rounded_integer(value.as_int(), precision);
    return rounded(value.as_number(), precision);
  }
  const double unit = std::pow(10.0, static_cast<double>(std::clamp<int64_t>(precision, -300, 300)));
  const double scaled = value.as_number() * unit;
  return (method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / unit;
}

Value filesizeformat(Interpreter&, const Value& value, const Arguments& arguments) {
  constexpr std::string_view kLetters = "kMGTPEZY";
  const bool binary = Bound("filesizeformat", arguments, {"binary"}).flag(0);
  if (value.is_undefined()) use_of_undefined(value);
  if (value.is_text()) spend_work_on_characters(value.bytes().size() * 4);
  const auto parsed = value.is_number() ? std::optional(value.as_number())
                      : value.is_text() ? parse_float(value.bytes())
                                        : std::nullopt;
  if (!parsed) throw problem("filesizeformat needs a number, not ", value.type_name());
  const double bytes = *parsed;
  const double base = binary ? 1024 : 1000;
  if (bytes == 1) return "1 Byte";
  if (bytes < base) return cat(truncated(bytes).value_or(0), " Bytes");
  double unit = base;
  for (const char letter : kLetters) {
    unit *= base;
    if (bytes < unit || letter == 'Y') {
      const std::string prefix = binary ? cat(letter == 'k' ? 'K' : letter, "iB") : cat(letter, "B");
      return cat(float_digits(base * bytes / unit, 'f', 1, false), " ", prefix);
    }
  }
  return {};
}

constexpr NamedFilter kNumberFilters[] = {
    {"abs", absolute},
    {"int", to_int},
    {"float", to_float},
    {"round", round_number},
    {"filesizeformat", filesizeformat},
};

}  // namespace

std::span<const NamedFilter> number_filters() { return kNumberFilters; }

}  // namespace wick::jinja
