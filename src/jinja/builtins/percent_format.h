#pragma once

#include "jinja/value.h"

namespace wick::jinja {

// Python's `text % arguments`: a tuple gives one argument per directive, a dict those that are named.
Value percent_format(const Value& format, const Value& arguments);

}  // namespace wick::jinja
