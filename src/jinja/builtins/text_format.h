#pragma once

#include "jinja/arguments.h"

namespace wick::jinja {

// Python's text.format(...): {}, {0}, {name}, {name.attribute[key]!r:>10}.
Value text_format(Interpreter& interpreter, const Value& format, const Arguments& arguments);

}  // namespace wick::jinja
