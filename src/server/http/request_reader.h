#pragma once

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "server/http/exchange.h"
#include "server/http/http_limits.h"

namespace wick {

// Reads one request from the bytes of a connection as they arrive.
class RequestReader {
 public:
  explicit RequestReader(const HttpLimits& limits);

  enum class Step {
    kMore,   // more bytes are needed
    kHead,   // method, path and headers are there: told once, before the body is looked at
    kWhole,  // the body, too
    kBad     // see problem(); what follows in the buffer has no meaning
  };
  Step read(boost::beast::flat_buffer& buffer);

  HttpRequest& request() { return request_; }
  const HttpResponse& problem() const { return problem_; }
  bool has_head() const { return has_head_; }
  bool body_is_complete() const { return has_head_ && parser_.is_done(); }
  bool keep_alive() const { return has_head_ && !is_bad_ && parser_.keep_alive(); }
  bool is_http10() const { return has_head_ && parser_.get().version() == 10; }
  void forget_body() { std::string().swap(parser_.get().body()); }
  // The client waits for "100 Continue" before it sends the body.
  bool awaits_continue() const { return awaits_continue_; }
  uint64_t bytes() const { return bytes_; }
  // Of the body, as much as is there.
  size_t body_bytes() const { return request_.body.empty() ? parser_.get().body().size() : request_.body.size(); }

 private:
  Step bad(int status, std::string_view message);
  Step bad(const boost::system::error_code& error);
  Step take_head();

  const HttpLimits& limits_;
  boost::beast::http::request_parser<boost::beast::http::string_body> parser_;
  HttpRequest request_;
  HttpResponse problem_;
  uint64_t bytes_ = 0;
  bool has_head_ = false;
  bool is_bad_ = false;
  bool awaits_continue_ = false;
};

}  // namespace wick
