#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace wick {

struct HttpHead {
  int status = 0;
  std::string content_range;    // as sent
  std::string error_code;       // the hub's own word for what is wrong, e.g. "GatedRepo"
  int64_t content_length = -1;  // -1: not known
  double retry_after = 0;       // seconds
};

struct HttpGet {
  std::string url;
  int64_t first = 0, last = -1;  // the bytes asked for, both included; last < 0 asks for all of them without a Range
  // Called for an answer of 200 or 206 only. What they throw ends the transfer and comes out of get().
  std::function<void(const HttpHead&)> begin;
  std::function<void(std::span<const std::byte>)> body;
};

struct HttpResult {
  HttpHead head;
  std::string problem;    // what kept the answer from being whole: "Connection reset by peer"; empty: nothing
  bool is_final = false;  // trying again is of no use: a certificate that is not trusted, a wrong address
};

// GET requests, one at a time, over connections that are kept open. Redirects are followed, never from https to http;
// the token goes to the endpoint's own scheme, host and port alone. Not thread-safe.
class HttpConnection {
 public:
  // A transfer ends soon after `stop` says true (it is asked often, on the thread of get()). Throws Error(kUnsupported)
  // in a build without libcurl, and Error(kInvalidArgument) for an endpoint or a token that cannot be one.
  HttpConnection(const std::string& endpoint, const std::string& token, std::function<bool()> stop);
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  HttpResult get(const HttpGet& request);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wick
