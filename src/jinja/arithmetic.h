#pragma once

#include "jinja/value.h"

namespace wick::jinja {

// Python's operators. Integers are 64 bits wide: a result that does not fit is an error.
Value add(const Value& left, const Value& right);
Value subtract(const Value& left, const Value& right);
Value multiply(const Value& left, const Value& right);
Value divide(const Value& left, const Value& right);
Value floor_divide(const Value& left, const Value& right);
Value modulo(const Value& left, const Value& right);  // text on the left: printf-style formatting
Value power(const Value& left, const Value& right);
Value negate(const Value& value);
Value plus(const Value& value);

}  // namespace wick::jinja
