#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace wick {

// Numbers as text: the shortest that reads back as the same value.
void append_number(std::string& out, int64_t value);
void append_number(std::string& out, uint64_t value);
void append_number(std::string& out, double value);
void append_number(std::string& out, float value);

template <typename T>
concept IsText = std::is_convertible_v<const T&, std::string_view>;
template <typename T>
concept IsPath = requires(const T& value) {
  { value.native() } -> std::convertible_to<std::string_view>;
};
template <typename T>
concept HasText = IsText<T> || IsPath<T> || std::is_arithmetic_v<T> || requires(const T& value) {
  to_string(value);
};

template <HasText T>
void append_text(std::string& out, const T& value) {
  if constexpr (IsText<T>) {
    out += std::string_view(value);
  } else if constexpr (IsPath<T>) {
    out += std::string_view(value.native());
  } else if constexpr (std::is_same_v<T, bool>) {
    out += value ? "true" : "false";
  } else if constexpr (std::is_same_v<T, char>) {
    out += value;
  } else if constexpr (std::is_floating_point_v<T>) {
    append_number(out, value);
  } else if constexpr (std::is_arithmetic_v<T>) {
    append_number(out, static_cast<std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>(value));
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
