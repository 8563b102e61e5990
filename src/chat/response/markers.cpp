#include "chat/response/markers.h"

#include <algorithm>

namespace wick::response {

MarkerHit find_marker(std::string_view text, std::initializer_list<std::string_view> markers, bool final) {
  MarkerHit hit{text.size(), -1};
  int index = 0;
  for (const std::string_view marker : markers) {
    const size_t at = text.find(marker);
    const bool earlier =
        at < hit.at || (at == hit.at && hit.which >= 0 && marker.size() > markers.begin()[hit.which].size());
    if (at != text.npos && earlier) hit = {at, index};
    ++index;
  }
  if (final) return hit;
  // A longer marker may have begun before the hit and still be open at the end of the text.
  for (const std::string_view marker : markers) {
    const size_t longest = std::min(marker.size() - 1, text.size());
    for (size_t size = longest; size > 0; --size) {
      const size_t at = text.size() - size;
      if (at < hit.at && text.substr(at) == marker.substr(0, size)) hit = {at, -1};
    }
  }
  return hit;
}

Starts starts_with_marker(std::string_view text, std::string_view marker, bool final) {
  if (text.size() >= marker.size()) return text.starts_with(marker) ? Starts::kYes : Starts::kNo;
  return !final && marker.starts_with(text) ? Starts::kUnknown : Starts::kNo;
}

HeaderEnd find_header_end(std::string_view text, std::string_view end, size_t most, bool final) {
  const size_t at = text.substr(0, most).find(end);
  if (at != text.npos) return {Starts::kYes, at};
  return {!final && text.size() < most ? Starts::kUnknown : Starts::kNo, 0};
}

size_t leading_space(std::string_view text) { return std::min(text.find_first_not_of(" \t\r\n"), text.size()); }

}  // namespace wick::response
