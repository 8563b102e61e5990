#include "server/http/router.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace wick {
namespace {

std::string_view prefix_of(std::string_view pattern) { return pattern.substr(0, pattern.find('{')); }

bool is_valid(std::string_view pattern) {
  const std::string_view prefix = prefix_of(pattern);
  if (!prefix.starts_with('/') || prefix.find('}') != std::string_view::npos) return false;
  if (prefix.size() == pattern.size()) return true;
  return prefix.ends_with('/') && pattern.find_first_of("{}", prefix.size() + 1) == pattern.size() - 1 &&
         pattern.ends_with('}') && pattern.size() > prefix.size() + 2;
}

}  // namespace

std::string_view path_parameter(std::string_view path, std::string_view pattern) {
  const std::string_view prefix = prefix_of(pattern);
  return path.starts_with(prefix) && prefix.size() < pattern.size() ? path.substr(prefix.size()) : std::string_view();
}

std::string_view Router::Path::prefix() const { return prefix_of(pattern); }

void Router::add(std::string method, std::string pattern, HttpHandler handler, RouteOptions options) {
  add(Route{std::move(method), std::move(pattern), std::move(handler), {}, std::move(options)});
}

void Router::add_web_socket(std::string pattern, WebSocketHandler handler, RouteOptions options) {
  add(Route{"GET", std::move(pattern), {}, std::move(handler), std::move(options)});
}

void Router::add(Route route) {
  const std::string &method = route.method, &pattern = route.pattern;
  if (!is_valid(pattern)) {
    throw Error(ErrorCode::kInvalidArgument, cat("route '", pattern, "': expected '/path' or '/path/{parameter}'"));
  }
  if (method == "HEAD" || method == "OPTIONS") {
    throw Error(ErrorCode::kInvalidArgument,
                cat("route '", pattern, "': ", method, " is answered by the server itself"));
  }
  auto path = std::find_if(paths_.begin(), paths_.end(), [&](const Path& one) { return one.pattern == pattern; });
  if (path == paths_.end()) path = paths_.insert(path, Path{pattern, {}});
  for (const Route& other : path->routes) {
    if (other.method == method) {
      throw Error(ErrorCode::kInvalidArgument, cat("route '", method, " ", pattern, "' is there already"));
    }
  }
  path->routes.push_back(std::move(route));
}

const Router::Path* Router::find_path(std::string_view path) const {
  const Path* best = nullptr;
  for (const Path& candidate : paths_) {
    if (!candidate.has_parameter()) {
      if (candidate.pattern == path) return &candidate;
    } else if (path.size() > candidate.prefix().size() && path.starts_with(candidate.prefix())) {
      if (!best || candidate.prefix().size() > best->prefix().size()) best = &candidate;
    }
  }
  return best;
}

Router::Match Router::find(std::string_view method, std::string_view path) const {
  Match match;
  const Path* found = find_path(path);
  if (!found) return match;
  match.pattern = found->pattern;
  const std::string_view wanted = method == "HEAD" ? "GET" : method;
  for (const Route& route : found->routes) {
    match.allowed += cat(route.method, route.method == "GET" ? ", HEAD, " : ", ");
    if (route.method == wanted) match.route = &route;
  }
  match.allowed += "OPTIONS";
  return match;
}

}  // namespace wick
