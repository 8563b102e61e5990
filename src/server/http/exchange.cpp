#include "server/http/exchange.h"

#include <algorithm>

namespace wick {

std::optional<std::string_view> HttpRequest::header(std::string_view name) const {
  const auto found =
      std::find_if(headers.begin(), headers.end(), [&](const auto& field) { return field.first == name; });
  if (found == headers.end()) return std::nullopt;
  return found->second;
}

}  // namespace wick
