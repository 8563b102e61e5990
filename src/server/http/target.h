#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "server/http/exchange.h"

namespace wick {

struct HttpTarget {
  std::string path;
  HttpFields query;
};

// What stands behind the method of a request: "/v1/models?limit=3" or with scheme and host in front. Empty when it is
// neither, or when an escape is wrong, or when what comes out is not UTF-8 or holds control characters.
std::optional<HttpTarget> parse_target(std::string_view target);

}  // namespace wick
