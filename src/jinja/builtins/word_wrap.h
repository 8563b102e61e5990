#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wick::jinja {

struct WrapOptions {
  int64_t width = 79;
  bool break_long_words = true;
  bool break_on_hyphens = true;
};

// Python's textwrap.wrap for one line, with white space kept as it is inside lines.
std::vector<std::string> wrap_line(std::string_view line, const WrapOptions& options);

}  // namespace wick::jinja
