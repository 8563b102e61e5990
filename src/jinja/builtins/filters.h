#pragma once

#include <span>
#include <string_view>

#include "jinja/arguments.h"

namespace wick::jinja {

class Interpreter;

using Filter = Value (*)(Interpreter&, const Value& subject, const Arguments&);
struct NamedFilter {
  std::string_view name;
  Filter apply;
};

// Null when there is none of that name.
Filter find_filter(std::string_view name);

// The tables, one per file.
std::span<const NamedFilter> text_filters();
std::span<const NamedFilter> html_filters();
std::span<const NamedFilter> list_filters();
std::span<const NamedFilter> select_filters();
std::span<const NamedFilter> number_filters();
std::span<const NamedFilter> general_filters();

}  // namespace wick::jinja
