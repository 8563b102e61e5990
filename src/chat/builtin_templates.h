#pragma once

#include <span>
#include <string_view>

namespace wick {

// Templates for models that ship none, by the name of the format.
struct BuiltinTemplate {
  std::string_view name;
  std::string_view source;
};
std::span<const BuiltinTemplate> builtin_templates();

}  // namespace wick
