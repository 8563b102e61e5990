#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>

namespace wick {

template <typename T>
concept HasText = std::is_convertible_v<const T&, std::string_view> || std::is_same_v<T, std::filesystem::path> ||
    std::is_arithmetic_v<T> || requires(const T& value) {
  to_string(value);
};

template <HasText T>
void append_text(std::string& out, const T& value) {
  if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    out += std::string_view(value);
  } else if constexpr (std::is_same_v<T, std::filesystem::path>) {
    out += value.string();
  } else if constexpr (std::is_arithmetic_v<T>) {
    fmt::format_to(std::back_inserter(out), "{}", value);
  } else {
    out += to_string(value);  // found beside the type
  }
}

// Joins its arguments into one string: numbers, text, paths and anything with a to_string beside it.
template <HasText... Args>
std::string cat(const Args&... args) {
  std::string out;
  (append_text(out, args), ...);
  return out;
}

}  // namespace wick
