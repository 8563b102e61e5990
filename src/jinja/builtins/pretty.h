#pragma once

#include <string>

#include "jinja/value.h"

namespace wick::jinja {

// Python's pprint.pformat: containers wider than 80 columns are broken over lines; dicts are sorted by key.
std::string pretty(const Value& value);

}  // namespace wick::jinja
