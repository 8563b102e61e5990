#pragma once

#include <string_view>

#include "jinja/arguments.h"

namespace wick::jinja {

using Test = bool (*)(const Value& subject, const Arguments&);

// Null when there is none of that name.
Test find_test(std::string_view name);

}  // namespace wick::jinja
