#include "server/http/cors.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"

namespace wick {
namespace {

bool is_origin(std::string_view text) {
  const size_t scheme = text.find("://");
  return scheme != std::string_view::npos && scheme > 0 && text.size() > scheme + 3 &&
         text.find_first_of("/ ?#*,", scheme + 3) == std::string_view::npos;
}

}  // namespace

Cors::Cors(std::vector<std::string> origins) : origins_(std::move(origins)) {
  for (const std::string& origin : origins_) {
    if (origin == "*") {
      all_ = true;
    } else if (!is_origin(origin)) {
      throw Error(ErrorCode::kInvalidArgument, cat("allowed origin ", in_quotes(origin),
                                                   ": expected '*' or scheme and host, 'https://example.org'"));
    }
  }
}

bool Cors::allows(std::string_view origin) const {
  return all_ || std::find(origins_.begin(), origins_.end(), origin) != origins_.end();
}

HttpFields Cors::fields(const HttpRequest& request) const {
  if (origins_.empty()) return {};
  const auto origin = request.header("origin");
  if (!origin || !allows(*origin)) return all_ ? HttpFields{} : HttpFields{{"Vary", "Origin"}};
  HttpFields fields{{"Access-Control-Allow-Origin", all_ ? "*" : std::string(*origin)},
                    {"Access-Control-Expose-Headers", "X-Request-Id, Retry-After"}};
  if (!all_) fields.emplace_back("Vary", "Origin");
  return fields;
}

bool Cors::admits(const HttpRequest& request) const {
  const auto origin = request.header("origin"), site = request.header("sec-fetch-site");
  if (!origin) return all_ || site != "cross-site";
  if (allows(*origin) || site == "same-origin") return true;  // so it is behind a proxy, too
  const size_t scheme = origin->find("://");
  return scheme != std::string_view::npos && origin->substr(scheme + 3) == request.header("host").value_or("");
}

HttpFields Cors::preflight_fields(const HttpRequest& request, std::string_view methods) const {
  const auto origin = request.header("origin");
  if (!origin || !allows(*origin) || !request.header("access-control-request-method")) return {};
  HttpFields fields{{"Access-Control-Allow-Methods", std::string(methods)}, {"Access-Control-Max-Age", "600"}};
  if (const auto wanted = request.header("access-control-request-headers")) {
    fields.emplace_back("Access-Control-Allow-Headers", std::string(*wanted));
  }
  return fields;
}

}  // namespace wick
