#pragma once

#include <cstddef>
#include <initializer_list>
#include <string_view>

namespace wick::response {

struct MarkerHit {
  size_t at = 0;   // bytes before the marker; without one, bytes that cannot be part of one
  int which = -1;  // index of the marker; -1: none
};

// The first of the markers. Unless the text is final, a beginning of a marker at its end is not counted as text.
MarkerHit find_marker(std::string_view text, std::initializer_list<std::string_view> markers, bool final);

// Whether the text starts with the marker: yes, no, or not known before more of it is there.
enum class Starts { kNo, kYes, kUnknown };
Starts starts_with_marker(std::string_view text, std::string_view marker, bool final);

// Where a header ends: at the first `end`, which must lie within `most` bytes, so that a text without one is not held
// for ever.
struct HeaderEnd {
  Starts found = Starts::kNo;
  size_t at = 0;
};
HeaderEnd find_header_end(std::string_view text, std::string_view end, size_t most, bool final);

size_t leading_space(std::string_view text);

}  // namespace wick::response
