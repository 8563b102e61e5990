#pragma once

#include <optional>
#include <string_view>

#include "jinja/value.h"

namespace wick::jinja {

// The functions every template has: range, dict, namespace, cycler, joiner, lipsum, raise_exception, strftime_now.
std::optional<Value> global_function(std::string_view name);

// dict(...) of a mapping or a list of pairs, plus named values.
Dict make_dict(std::string_view function, const struct Arguments& arguments);

}  // namespace wick::jinja
