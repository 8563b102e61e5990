#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/http/exchange.h"

namespace wick {

// Which pages of other origins may read answers. With no origins nothing is allowed and no field is sent.
class Cors {
 public:
  // "https://example.org", "http://localhost:5173", or "*" for all. Throws Error(kInvalidArgument) for anything else.
  explicit Cors(std::vector<std::string> origins);

  // Fields of an answer to a page of that origin; none when there is no origin or it is not allowed.
  HttpFields fields(const HttpRequest& request) const;
  // Whether a request that does something may come from where it comes: a program, a page of this server or of an
  // allowed origin. Browsers send forms, plain texts and web sockets from any page, and leave that to the server.
  bool admits(const HttpRequest& request) const;
  // Further fields when the browser asks before the real request; `methods` is what the path allows.
  HttpFields preflight_fields(const HttpRequest& request, std::string_view methods) const;

 private:
  bool allows(std::string_view origin) const;

  std::vector<std::string> origins_;
  bool all_ = false;
};

}  // namespace wick
