#include "jinja/arithmetic.h"

#include <cmath>

#include "base/checked.h"
#include "jinja/builtins/growing.h"
#include "jinja/builtins/percent_format.h"
#include "jinja/builtins/python_format.h"

namespace wick::jinja {
namespace {

Error unsupported(std::string_view op, const Value& left, const Value& right) {
  if (left.is_undefined()) use_of_undefined(left);
  if (right.is_undefined()) use_of_undefined(right);
  return problem("unsupported operand types for ", op, ": '", left.type_name(), "' and '", right.type_name(), "'");
}

int64_t fitting(std::optional<int64_t> result) {
  if (!result) throw problem("integer overflow: the result does not fit into 64 bits");
  return *result;
}

bool both_numbers(const Value& left, const Value& right) { return left.is_number() && right.is_number(); }
bool both_integral(const Value& left, const Value& right) { return left.is_integral() && right.is_integral(); }

void check_divisor(const Value& right) {
  if (right.as_number() == 0) throw problem("division by zero");
}

Value add_texts(const Value& left, const Value& right) {
  if (!left.is_markup() && !right.is_markup()) return join_texts(left, right.bytes());
  require_memory(static_cast<int64_t>(left.bytes().size() + right.bytes().size()));
  return {cat(escape(left).bytes(), escape(right).bytes()), true};
}

int64_t repeated_bytes(size_t size, int64_t count) {
  const auto bytes = checked_mul(static_cast<int64_t>(size), std::max<int64_t>(count, 0));
  if (!bytes) throw problem("a repetition of ", count, " times is too long");
  require_memory(*bytes);
  return *bytes;
}

Value repeat(const Value& value, int64_t count) {
  if (value.is_text()) {
    std::string out;
    out.reserve(static_cast<size_t>(repeated_bytes(value.bytes().size(), count)));
    if (!value.bytes().empty()) {
      for (int64_t i = 0; i < count; ++i) out += value.bytes();
    }
    return {std::move(out), value.is_markup()};
  }
  repeated_bytes(value.items().size() * sizeof(Value), count);
  std::vector<Value> items;
  if (!value.items().empty()) {
    for (int64_t i = 0; i < count; ++i) items.insert(items.end(), value.items().begin(), value.items().end());
  }
  return value.is_list() ? Value::list(std::move(items)) : Value::tuple(std::move(items));
}

bool can_repeat(const Value& value) { return value.is_text() || value.is_list() || value.is_tuple(); }

// Rounds towards minus infinity, as Python does.
int64_t floor_quotient(int64_t a, int64_t b) {
  if (b == -1) return fitting(checked_mul(a, -1));
  const int64_t quotient = a / b;
  return quotient - ((a % b != 0) && ((a < 0) != (b < 0)));
}

double float_remainder(double a, double b) {
  double rest = std::fmod(a, b);
  if (rest != 0 && (rest < 0) != (b < 0)) rest += b;
  return rest == 0 ? std::copysign(0.0, b) : rest;
}

int64_t integer_power(int64_t base, int64_t exponent) {
  int64_t result = 1;
  while (exponent > 0) {
    if (exponent & 1) result = fitting(checked_mul(result, base));
    exponent >>= 1;
    if (exponent > 0) base = fitting(checked_mul(base, base));
  }
  return result;
}

}  // namespace

Value add(const Value& left, const Value& right) {
  if (both_integral(left, right)) return fitting(checked_add(left.as_int(), right.as_int()));
  if (both_numbers(left, right)) return left.as_number() + right.as_number();
  if (left.is_text() && right.is_text()) return add_texts(left, right);
  if (left.is_list() && right.is_list()) return join_lists(*left.shared_items(), *right.shared_items());
  if (left.is_tuple() && right.is_tuple()) return Value::tuple(join_lists(*left.shared_items(), *right.shared_items()));
  if (right.is_undefined()) use_of_undefined(right);
  if (left.is_text()) throw problem("can only concatenate str (not \"", right.type_name(), "\") to str");
  throw unsupported("+", left, right);
}

Value subtract(const Value& left, const Value& right) {
  if (both_integral(left, right)) {
    int64_t result = 0;
    const bool overflow = __builtin_sub_overflow(left.as_int(), right.as_int(), &result);
    return fitting(overflow ? std::nullopt : std::optional(result));
  }
  if (both_numbers(left, right)) return left.as_number() - right.as_number();
  throw unsupported("-", left, right);
}

Value multiply(const Value& left, const Value& right) {
  if (both_integral(left, right)) return fitting(checked_mul(left.as_int(), right.as_int()));
  if (both_numbers(left, right)) return left.as_number() * right.as_number();
  if (can_repeat(left) && right.is_integral()) return repeat(left, right.as_int());
  if (can_repeat(right) && left.is_integral()) return repeat(right, left.as_int());
  throw unsupported("*", left, right);
}

Value divide(const Value& left, const Value& right) {
  if (!both_numbers(left, right)) throw unsupported("/", left, right);
  check_divisor(right);
  return left.as_number() / right.as_number();
}

Value floor_divide(const Value& left, const Value& right) {
  if (!both_numbers(left, right)) throw unsupported("//", left, right);
  check_divisor(right);
  if (both_integral(left, right)) return floor_quotient(left.as_int(), right.as_int());
  const double a = left.as_number(), b = right.as_number();
  return std::floor((a - float_remainder(a, b)) / b + 0.0);
}

Value modulo(const Value& left, const Value& right) {
  if (left.is_text()) return percent_format(left, right);
  if (!both_numbers(left, right)) throw unsupported("%", left, right);
  check_divisor(right);
  if (both_integral(left, right)) {
    const int64_t a = left.as_int(), b = right.as_int();
    if (b == -1) return 0;
    const int64_t rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
  return float_remainder(left.as_number(), right.as_number());
}

Value power(const Value& left, const Value& right) {
  if (!both_numbers(left, right)) throw unsupported("**", left, right);
  if (both_integral(left, right) && right.as_int() >= 0) return integer_power(left.as_int(), right.as_int());
  const double base = left.as_number(), exponent = right.as_number();
  if (base == 0 && exponent < 0) throw problem("0 cannot be raised to a negative power");
  if (base < 0 && std::isfinite(base) && std::isfinite(exponent) && std::trunc(exponent) != exponent) {
    throw problem("a negative number raised to a fraction is not a real number");
  }
  const double result = std::pow(base, exponent);
  if (std::isinf(result) && std::isfinite(base) && std::isfinite(exponent)) {
    throw problem("the result of ** is too large");
  }
  return result;
}

Value negate(const Value& value) {
  if (value.is_undefined()) use_of_undefined(value);
  if (value.is_integral()) return subtract(0, value);
  if (value.is_float()) return -value.as_number();
  throw problem("bad operand type for unary -: '", value.type_name(), "'");
}

Value plus(const Value& value) {
  if (value.is_undefined()) use_of_undefined(value);
  if (value.is_integral()) return value.as_int();
  if (value.is_float()) return value;
  throw problem("bad operand type for unary +: '", value.type_name(), "'");
}

}  // namespace wick::jinja
