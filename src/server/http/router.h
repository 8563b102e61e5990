#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/http/exchange.h"
#include "server/websocket/web_socket.h"

namespace wick {

// Another way to write an error than error_response()'s, whose answer is given.
using ErrorForm = HttpResponse (*)(HttpResponse);

struct RouteOptions {
  bool quick = false;         // runs on the thread of the connections, so it must return at once
  bool is_public = false;     // needs no API key
  std::string protocol = {};  // of a web socket: agreed on when the client offers it
  ErrorForm error_form = nullptr;
};

struct Route {
  std::string method;
  std::string pattern;
  HttpHandler handler;          // null: a web socket
  WebSocketHandler web_socket;  // null: none
  RouteOptions options;
};

// Which handler answers what. A pattern is a path, "/v1/models", or a path whose end is a parameter, "/v1/models/{id}":
// it stands for any text that is not empty, slashes included. Exact paths go first, then the longest pattern.
class Router {
 public:
  // Throws Error(kInvalidArgument) for a pattern of another form and for one that is there already. A route for GET
  // answers HEAD, too.
  void add(std::string method, std::string pattern, HttpHandler handler, RouteOptions options = {});
  // The same for GET requests that are to become web sockets; the handler is never a quick one.
  void add_web_socket(std::string pattern, WebSocketHandler handler, RouteOptions options = {});

  struct Match {
    const Route* route = nullptr;  // null: see `allowed`
    std::string_view pattern;      // of the path, whatever the method; empty: no such path
    std::string allowed;           // methods of the path, "GET, HEAD, OPTIONS"; empty: no such path
  };
  Match find(std::string_view method, std::string_view path) const;

 private:
  void add(Route route);
  struct Path {
    std::string pattern;
    std::string_view prefix() const;  // what stands before the parameter; all of it when there is none
    bool has_parameter() const { return prefix().size() < pattern.size(); }
    std::vector<Route> routes;
  };
  const Path* find_path(std::string_view path) const;

  std::vector<Path> paths_;
};

// The parameter of a path that `pattern` matches; empty when it does not.
std::string_view path_parameter(std::string_view path, std::string_view pattern);

}  // namespace wick
