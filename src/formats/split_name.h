#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace wick {

// The name of one part of a split GGUF: "<stem>-00002-of-00005.gguf".
struct SplitName {
  std::string stem;
  int number = 0;  // from 1
  int count = 0;

  std::string part(int wanted) const;
};

// Empty when the name is not of that form.
std::optional<SplitName> parse_split_name(std::string_view name);

}  // namespace wick
